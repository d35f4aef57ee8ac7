#pragma once

#include <string>
#include <string_view>

namespace tutti {

enum class Style { kPlain, kBold, kDim, kGreen, kRed, kYellow, kCyan };

// Where a verb's text goes. An interface, so that tests see what users see.
class Screen {
 public:
  virtual ~Screen() = default;
  // Both write all of it or drop it: a reader that went away is no reason to fail.
  virtual void out(std::string_view text) = 0;
  virtual void err(std::string_view text) = 0;
  virtual bool out_is_terminal() const = 0;
  virtual bool err_is_terminal() const = 0;
  virtual bool in_is_terminal() const = 0;
  // Columns of the terminal; 0 where there is none.
  virtual int width() const = 0;
  // Rows of the terminal; 0 where there is none.
  virtual int height() const = 0;
  virtual bool colour() const = 0;
  // Whether text for stdout could not be written: nobody reads it, or the disk is full.
  virtual bool broken() const = 0;
  // Whether who read stdout or stderr went away.
  virtual bool nobody_reads() const = 0;
  // A line from the user, without its end; empty at the end of input.
  virtual std::string ask(std::string_view question) = 0;

  // `text` in that style where colours are shown.
  std::string styled(Style style, std::string_view text) const;
};

// The process's own stdout, stderr and stdin.
class ProcessScreen : public Screen {
 public:
  ProcessScreen();
  void out(std::string_view text) override;
  void err(std::string_view text) override;
  bool out_is_terminal() const override { return out_terminal_; }
  bool err_is_terminal() const override { return err_terminal_; }
  bool in_is_terminal() const override;
  int width() const override;
  int height() const override;
  bool colour() const override { return colour_; }
  std::string ask(std::string_view question) override;
  bool broken() const override { return out_failure_ != 0; }
  bool nobody_reads() const override;
  // What kept text from stdout, as errno says it; 0: nothing did.
  int out_failure() const { return out_failure_; }

 private:
  bool out_terminal_;
  bool err_terminal_;
  bool colour_;
  int out_failure_ = 0;
  int err_failure_ = 0;
};

}  // namespace tutti
