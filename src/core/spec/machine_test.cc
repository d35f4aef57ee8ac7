#include "core/spec/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

MachineAddress address_of(std::string_view text) {
  const auto address = parse_machine_address(text);
  EXPECT_TRUE(address) << text << ": " << (address ? "" : address.error().message);
  return address ? *address : MachineAddress{};
}

std::string address_error(std::string_view text) {
  const auto address = parse_machine_address(text);
  EXPECT_FALSE(address) << text;
  return address ? "" : address.error().message;
}

TEST(MachineAddress, has_a_user_a_host_and_a_port) {
  EXPECT_EQ(address_of("box1"), (MachineAddress{"", "box1", 0}));
  EXPECT_EQ(address_of("ada@box1"), (MachineAddress{"ada", "box1", 0}));
  EXPECT_EQ(address_of("ada@10.0.0.7:2222"), (MachineAddress{"ada", "10.0.0.7", 2222}));
  EXPECT_EQ(address_of("ada@lab.example@box1"), (MachineAddress{"ada@lab.example", "box1", 0}));
}

TEST(MachineAddress, may_be_an_ipv6_address_in_brackets) {
  EXPECT_EQ(address_of("[::1]"), (MachineAddress{"", "::1", 0}));
  EXPECT_EQ(address_of("ada@[fe80::1%eth0]:22"), (MachineAddress{"ada", "fe80::1%eth0", 22}));
  EXPECT_THAT(address_error("fe80::1"), HasSubstr("in brackets"));
  EXPECT_THAT(address_error("[box]"), HasSubstr("IPv6"));
  EXPECT_THAT(address_error("[::1"), HasSubstr("not closed"));
  EXPECT_THAT(address_error("[::1]22"), HasSubstr(":PORT"));
}

TEST(MachineAddress, may_be_a_url) {
  EXPECT_EQ(address_of("ssh://ada@box1:22/"), (MachineAddress{"ada", "box1", 22}));
  EXPECT_THAT(address_error("ssh://box1/etc"), HasSubstr("host has other characters"));
  EXPECT_THAT(address_error("http://box1"), HasSubstr("port"));
}

TEST(MachineAddress, is_never_an_option_of_ssh) {
  EXPECT_THAT(address_error("-oProxyCommand=reboot"), HasSubstr("dash"));
  EXPECT_THAT(address_error("ada@-oProxyCommand=reboot"), HasSubstr("dash"));
  EXPECT_THAT(address_error("-l@box"), HasSubstr("dash"));
  EXPECT_THAT(address_error("ssh://-F"), HasSubstr("dash"));
  EXPECT_THAT(address_error("[-::1]"), HasSubstr("dash"));
}

TEST(MachineAddress, has_no_blanks_quotes_or_control_characters) {
  for (const std::string_view bad : {"a b", "a\nb", "a\tb", "a'b", "a;b", "a$b", "a`b", "ä", "a,b",
                                     "a|b", "a b@box", "a\x01@box"}) {
    EXPECT_FALSE(parse_machine_address(bad)) << bad;
  }
  EXPECT_FALSE(parse_machine_address(std::string_view("a\0b", 3)));
}

TEST(MachineAddress, has_a_port_between_1_and_65535) {
  for (const std::string_view bad : {"box:0", "box:65536", "box:", "box:ssh", "box:-1", "box:+1"}) {
    EXPECT_THAT(address_error(bad), HasSubstr("1 to 65535")) << bad;
  }
}

TEST(MachineAddress, lacks_no_host) {
  EXPECT_THAT(address_error(""), HasSubstr("is empty"));
  EXPECT_THAT(address_error("ada@"), HasSubstr("host is empty"));
  EXPECT_THAT(address_error("@box"), HasSubstr("user is empty"));
  EXPECT_THAT(address_error(std::string(600, 'a')), HasSubstr("too long"));
}

TEST(MachineAddress, is_written_as_it_is_read) {
  for (const std::string_view text : {"box1", "ada@box1:2222", "[::1]:22", "ada@[fe80::1%eth0]"}) {
    EXPECT_EQ(format_machine_address(address_of(text)), text);
  }
}

TEST(MachineAddress, gives_a_name_that_can_stand_in_lists) {
  EXPECT_EQ(machine_name(address_of("ada@box1.lab:22")), "box1.lab");
  EXPECT_EQ(machine_name(address_of("[fe80::1%eth0]")), "fe80--1-eth0");
  EXPECT_EQ(machine_name(address_of("[::1]")), "ip--1");
}

std::vector<std::string> expanded(std::string_view pattern) {
  const auto names = expand_machines(pattern);
  EXPECT_TRUE(names) << pattern;
  return names ? *names : std::vector<std::string>{};
}

TEST(ExpandMachines, counts_with_the_width_of_the_first_number) {
  EXPECT_THAT(expanded("box[08-11]"), ElementsAre("box08", "box09", "box10", "box11"));
  EXPECT_THAT(expanded("box[8-11]"), ElementsAre("box8", "box9", "box10", "box11"));
  EXPECT_EQ(expanded("host[01-16]").size(), 16u);
}

TEST(ExpandMachines, keeps_what_stands_around_the_list) {
  EXPECT_THAT(expanded("ada@gpu[1,3-5].lab:22"), ElementsAre("ada@gpu1.lab:22", "ada@gpu3.lab:22",
                                                             "ada@gpu4.lab:22", "ada@gpu5.lab:22"));
  EXPECT_THAT(expanded("box"), ElementsAre("box"));
  EXPECT_THAT(expanded("ada@[::1]:22"), ElementsAre("ada@[::1]:22"));
}

TEST(ExpandMachines, multiplies_several_lists) {
  EXPECT_THAT(expanded("r[1-2]n[1-2]"), ElementsAre("r1n1", "r1n2", "r2n1", "r2n2"));
}

TEST(ExpandMachines, is_bounded) {
  EXPECT_EQ(expanded("b[1-1024]").size(), 1024u);
  for (const std::string_view many : {"b[1-1025]", "b[0-999999999]", "b[1-100]c[1-100]",
                                      "b[1-1000,1-1000]", "b[1-1000][1-1000][1-1000]"}) {
    const auto names = expand_machines(many);
    ASSERT_FALSE(names) << many;
    EXPECT_THAT(names.error().message, HasSubstr("more than 1024"));
  }
}

TEST(ExpandMachines, refuses_what_is_no_list_of_numbers) {
  for (const std::string_view bad :
       {"b[", "b[]", "b[a-c]", "b[1-]", "b[-3]", "b[3-1]", "b[1,,2]", "b[1 ,2]", "b[010-11]"}) {
    EXPECT_FALSE(expand_machines(bad)) << bad;
  }
}

TEST(MachineWord, has_nothing_that_lists_of_nodes_use) {
  EXPECT_TRUE(check_machine_word("name", "box1.lab"));
  EXPECT_TRUE(check_machine_word("name", "große-kiste"));
  for (const std::string_view bad : {"", "a b", "a,b", "a|b", "a/b", "a%b", "-a", "a\n", "\xff"}) {
    EXPECT_FALSE(check_machine_word("name", bad)) << bad;
  }
  EXPECT_FALSE(check_machine_word("name", std::string(129, 'a')));
}

TEST(GpuList, is_numbers_or_none) {
  for (const std::string_view good : {"", "none", "0", "0,2", "10,3"}) {
    EXPECT_TRUE(check_gpu_list(good)) << good;
  }
  for (const std::string_view bad : {"all", "0-3", "0,", ",", "-1", "256", "A100"}) {
    EXPECT_FALSE(check_gpu_list(bad)) << bad;
  }
}

MachineFile file_of(std::string_view text) {
  const auto file = parse_machine_file(text, "m.yaml");
  EXPECT_TRUE(file) << (file ? "" : file.error().message);
  return file ? *file : MachineFile{};
}

std::string file_error(std::string_view text) {
  const auto file = parse_machine_file(text, "m.yaml");
  EXPECT_FALSE(file) << text;
  return file ? "" : file.error().message;
}

TEST(MachineFile, is_read_with_its_comments) {
  const MachineFile file = file_of(
      "username: ben       # your name there\n"
      "ip: 105.29.123.241\n"
      "port: 22    # usually\n"
      "# a key without a passphrase\n"
      "ssh_key_path: ~/.ssh/id_ssh_key\n");
  EXPECT_EQ(file, (MachineFile{{"ben", "105.29.123.241", 22}, "~/.ssh/id_ssh_key"}));
}

TEST(MachineFile, needs_only_the_address) {
  EXPECT_EQ(file_of("ip: box1\n"), (MachineFile{{"", "box1", 0}, ""}));
  EXPECT_EQ(file_of("ip: fe80::1\nport: 22\n"), (MachineFile{{"", "fe80::1", 22}, ""}));
  EXPECT_THAT(file_error("username: ben\n"), HasSubstr("m.yaml:1:1: has no ip"));
}

TEST(MachineFile, names_the_line_and_the_nearest_field) {
  EXPECT_EQ(file_error("ip: box1\nuser_name: ben\n"),
            "m.yaml:2:1: unknown field 'user_name', did you mean 'username'?");
}

TEST(MachineFile, refuses_what_is_no_plain_value) {
  EXPECT_THAT(file_error("ip: [a, b]\n"), HasSubstr("m.yaml:1:5: ip has no value"));
  EXPECT_THAT(file_error("ip: box\nport:\n"), HasSubstr("port has no value"));
  EXPECT_THAT(file_error("ip: box\nip: box\n"), HasSubstr("given twice"));
  EXPECT_THAT(file_error("- ip: box\n"), HasSubstr("no machine file"));
  EXPECT_THAT(file_error(""), HasSubstr("is empty"));
  EXPECT_THAT(file_error("ip: box\nport: many\n"), HasSubstr("1 to 65535"));
}

TEST(MachineFile, has_no_options_of_ssh_in_it) {
  EXPECT_THAT(file_error("ip: -oProxyCommand=reboot\n"), HasSubstr("dash"));
  EXPECT_THAT(file_error("ip: box\nusername: -l\n"), HasSubstr("dash"));
  // A user that ends the address early would change the host.
  EXPECT_EQ(file_of("ip: box\nusername: eve@other\n").address.host, "box");
}

}  // namespace
}  // namespace tutti
