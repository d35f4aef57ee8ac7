"""Batches: many lines, one job, results line by line."""

import json
import re

import pytest

MIXED = """\
# a comment
echo plain words
   # another, indented

echo "quoted  blanks" 'and $single'
echo pipe | tr a-z A-Z
for i in 1 2 3; do printf %s $i; done
echo one \\
  two
test -e /no/such/file
  echo indented
X=5; echo $((X * 2))
printf '%s\\n' "a'b" > out-file; cat out-file
"""


def results(tutti, job):
    return {t["line"]: t for t in tutti.api.tasks(job)}


def output(tutti, job, label):
    return tutti.ok("logs", f"{job}.{label}").stdout


def test_bash_lines_comments_blanks_and_continuation(daemon, work):
    (work / "mixed.txt").write_text(MIXED)
    done = daemon("batch", "mixed.txt")
    assert done.code == 1, done
    by_line = results(daemon, 1)
    assert sorted(by_line) == [2, 5, 6, 7, 8, 10, 11, 12, 13]
    assert [n for n, t in by_line.items() if t["state"] != "succeeded"] == [10]
    expected = {2: b"plain words\n", 5: b"quoted  blanks and $single\n", 6: b"PIPE\n", 7: b"123",
                8: b"one two\n", 10: b"", 11: b"indented\n", 12: b"10\n", 13: b"a'b\n"}
    for line, text in expected.items():
        assert output(daemon, 1, by_line[line]["task"]) == text, line


def test_failing_line_is_named_with_its_number_in_the_file(daemon, work):
    (work / "lines.txt").write_text("true\n\n# note\nsh -c 'exit 3'\ntrue\n")
    done = daemon("batch", "lines.txt")
    assert done.code == 1
    assert "line 4 (task 1.2) failed (exit 3): sh -c 'exit 3'" in done.err
    assert re.search(r"(?m)^ +2 +4 +failed ", daemon.ok("show", "last").out)
    assert "3 tasks: 2 succeeded, 1 failed" in done.out


def test_all_lines_good_is_0(daemon, work):
    (work / "lines.txt").write_text("true\n" * 20)
    done = daemon.ok("batch", "lines.txt")
    assert "20 tasks: 20 succeeded" in done.out
    assert done.stderr == b""


def test_detach_quiet_prints_only_the_id(daemon, work):
    (work / "lines.txt").write_text("true\ntrue\n")
    done = daemon.ok("batch", "--detach", "-q", "lines.txt")
    assert done.stdout == b"1\n"
    assert done.stderr == b""
    assert daemon.wait(1) == 0


def test_detach_says_how_many_tasks(daemon):
    done = daemon.ok("batch", "--detach", "-", input="true\ntrue\n")
    assert done.out == "Submitted job 1 with 2 tasks.\n"


def test_detach_json_has_the_id(daemon):
    done = daemon.ok("batch", "--detach", "--json", "-", input="true\n")
    assert done.json() == {"api": 1, "id": 1, "ids": [1]}


def test_dash_reads_standard_input(daemon, work):
    assert daemon.ok("batch", "-", input="echo x > from-stdin\n").code == 0
    assert (work / "from-stdin").read_text() == "x\n"


def test_last_line_without_newline_and_windows_line_ends_count(daemon):
    daemon.ok("batch", "-", input=b"echo a\r\necho b")
    assert output(daemon, 1, 1) == b"a\n"
    assert output(daemon, 1, 2) == b"b\n"


def test_empty_batch_is_fine(daemon):
    for call, text in ((["-"], "# nothing\n\n"), (["--from-json", "-"], "\n"),
                       (["--from-json", "-"], "[]")):
        done = daemon("batch", *call, input=text)
        assert done.code == 0, done
        assert "no command" in done.err


def test_missing_file_is_an_error_that_names_it(daemon):
    done = daemon("batch", "no-such-file.txt")
    assert done.code == 1
    assert "no-such-file.txt" in done.err


def test_retry_failed_runs_only_the_failed_again(daemon, work):
    lines = [f'echo {n} "$TUTTI_ATTEMPT" >> ran; test -e data || test {n} -ne 3'
             for n in range(1, 6)]
    job = daemon.batch(lines)
    assert daemon.wait(job) == 1
    (work / "data").touch()
    daemon.ok("retry", "--failed", "last")
    assert daemon.wait(job) == 0
    ran = sorted((work / "ran").read_text().splitlines())
    assert ran == ["1 1", "2 1", "3 1", "3 2", "4 1", "5 1"]
    assert daemon.job(job)["counts"]["succeeded"] == 5


def test_retry_when_nothing_failed_is_an_error(daemon):
    job = daemon.batch(["true"])
    daemon.wait(job)
    done = daemon("retry", "--failed", job)
    assert done.code == 1
    assert "no failed task" in done.err
    assert "nothing to retry" in daemon("retry", job).err


def test_retry_of_one_task(daemon, work):
    job = daemon.batch(["echo a >> ran; false", "echo b >> ran; false"])
    daemon.wait(job)
    daemon.ok("retry", f"{job}.2")
    daemon.wait(job)
    assert sorted((work / "ran").read_text().splitlines()) == ["a", "b", "b"]


def test_a_retry_of_one_task_does_not_hide_how_others_failed(daemon, work):
    job = daemon.batch(["test -e data || exit 3", "exit 4", "exit 5"])
    assert daemon.wait(job) != 0
    (work / "data").touch()
    daemon.ok("retry", f"{job}.1")
    assert daemon.wait(job) == 4
    daemon.ok("daemon", "restart")
    daemon.ok("retry", f"{job}.3")
    assert daemon.wait(job) == 4


def test_each_line_quotes_the_value(daemon, work):
    names = ["plain", "with blank", "it's", '"$(touch hacked)"', "-rf", "ünïcode", "a;b|c"]
    daemon.ok("batch", "--each-line", "printf %s, {}", "-", input="\n".join(names) + "\n")
    tasks = daemon.api.tasks(1)
    assert [output(daemon, 1, t["task"]).decode() for t in tasks] == [f"{n}," for n in names]
    assert not (work / "hacked").exists()


def test_each_line_without_place_adds_at_the_end(daemon):
    daemon.ok("batch", "--each-line", "echo value", "-", input="x y\n")
    assert output(daemon, 1, 1) == b"value x y\n"


def test_each_line_refuses_a_place_in_quotes(daemon):
    done = daemon("batch", "--each-line", "echo '{}'", "-", input="x\n")
    assert done.code == 2
    assert "quote" in done.err


def test_from_json_fills_the_template(daemon, work):
    rows = [{"lr": 0.1, "tags": ["a b", "c"]}, {"lr": 0.01, "tags": ["$(touch hacked)"]}]
    (work / "grid.json").write_text(json.dumps(rows))
    daemon.ok("batch", "--from-json", "--template", "printf '<%s>' {lr} {tags}", "grid.json")
    assert output(daemon, 1, 1) == b"<0.1><a b><c>"
    assert output(daemon, 1, 2) == b"<0.01><$(touch hacked)>"
    assert not (work / "hacked").exists()


def test_from_json_takes_commands_and_word_lists(daemon):
    rows = ["echo text | cat", ["printf", "%s", "two words"], {"command": "echo object"}]
    daemon.ok("batch", "--from-json", "-", input=json.dumps(rows))
    assert [output(daemon, 1, n) for n in (1, 2, 3)] == [b"text\n", b"two words", b"object\n"]


def test_from_json_takes_one_value_per_line(daemon):
    daemon.ok("batch", "--from-json", "--template", "echo {n}", "-", input='{"n":1}\n{"n":2}\n')
    assert output(daemon, 1, 2) == b"2\n"


@pytest.mark.parametrize("text, told", [
    ('[{"lr": 1}]', "lrr"), ("[1, 2", "JSON"), ('[{"a":1,"a":2}]', "'a'")])
def test_bad_json_is_a_usage_error_that_says_where(daemon, text, told):
    done = daemon("batch", "--from-json", "--template", "echo {lrr}", "-", input=text)
    assert done.code == 2, done
    assert told in done.err


def test_each_line_and_from_json_exclude_each_other(daemon):
    done = daemon("batch", "--each-line", "x", "--from-json", "-", input="[]")
    assert done.code == 2
    assert "exclude" in done.err


def test_options_apply_to_every_line(daemon, work):
    lines = ['echo "$X" "$PWD" "$TUTTI_JOB_NAME" >> "$OUT"'] * 3
    (work / "sub").mkdir()
    daemon.ok("batch", "--env", "X=5", "--env", f"OUT={work}/ran", "-n", "many", "-C", "sub", "-",
              input="\n".join(lines))
    assert (work / "ran").read_text() == f"5 {work}/sub many\n" * 3


def test_max_parallel_bounds_a_batch(daemon, work):
    line = 'mkdir running.$$; ls -d running.* | wc -l >> seen; sleep 0.05; rmdir running.$$'
    daemon.ok("batch", "--max-parallel", "1", "-", input=f"{line}\n" * 8)
    assert set((work / "seen").read_text().split()) == {"1"}


def test_slots_bound_what_runs_at_once(tutti, work):
    tutti.start(slots=3)
    line = 'mkdir running.$$; ls -d running.* | wc -l >> seen; sleep 0.1; rmdir running.$$'
    tutti.ok("batch", "-", input=f"{line}\n" * 12)
    seen = {int(n) for n in (work / "seen").read_text().split()}
    assert max(seen) <= 3
    assert max(seen) > 1


def test_json_prints_the_finished_batch(daemon):
    done = daemon("batch", "--json", "-", input="true\nfalse\n")
    assert done.code == 1
    job = done.json()
    assert (job["state"], job["shape"], job["tasks"]) == ("failed", "batch", 2)
    assert job["counts"]["failed"] == 1


def test_retries_happen_line_by_line(daemon, work):
    line = 'echo {0} >> ran; test {0} = 1 || test "$TUTTI_ATTEMPT" = 2'
    daemon.ok("batch", "--retries", "1", "--backoff", "50ms", "-",
              input=f"{line.format(1)}\n{line.format(2)}\n")
    assert sorted((work / "ran").read_text().split()) == ["1", "2", "2"]


def test_line_of_a_megabyte_runs(daemon):
    word = "x" * (1 << 20)
    daemon.ok("batch", "-", input=f"echo {word} | wc -c\n")
    assert output(daemon, 1, 1) == b"%d\n" % (len(word) + 1)


def test_line_that_is_not_utf8_runs_as_written(daemon, work):
    daemon.ok("batch", "-", input=b"printf '%s' '\xff\xfe' > raw\n")
    assert (work / "raw").read_bytes() == b"\xff\xfe"


def test_nul_byte_is_refused_with_its_line(daemon):
    done = daemon("batch", "-", input=b"true\necho a\0b\n")
    assert done.code == 2
    assert "line 2" in done.err and "NUL" in done.err


def test_many_failures_are_summed_up(daemon):
    done = daemon("batch", "-", input="false\n" * 30)
    assert done.code == 1
    assert done.err.count("failed (exit 1)") == 20
    assert "10 more" in done.err
