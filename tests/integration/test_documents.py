"""Completions, manual page and reference are made from the command table and stay true."""

import re
import shutil
import subprocess

import pytest

from waiting import BINARY, ROOT


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_valid_for_their_shell(tutti, shell):
    text = tutti.ok("completions", shell).out
    for verb in ("submit", "batch", "explain"):
        assert verb in text
    assert "max-parallel" in text
    if shutil.which(shell) is None:
        return
    done = subprocess.run([shell, "-n"], input=text.encode(), capture_output=True)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_bash_completes_verbs_and_options(tutti):
    script = tutti.ok("completions", "bash").out
    ask = """
{script}
complete_for() {{
  COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
  COMP_LINE="$*"; COMP_POINT=${{#COMP_LINE}}
  function=$(complete -p tutti | sed 's/.*-F \\([^ ]*\\).*/\\1/')
  "$function" tutti "${{!#}}" "${{@: -2:1}}" 2>/dev/null
  echo "${{COMPREPLY[*]}}"
}}
complete_for tutti sub
complete_for tutti submit --max
""".format(script=script)
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True,
                          env=tutti.environment())
    lines = done.stdout.splitlines()
    assert [line.strip() for line in lines] == ["submit", "--max-parallel"], done


def test_manual_page_has_no_faults(tutti):
    page = tutti.ok("help", "--man").out
    assert page.startswith((".TH", ".Dd", "'\\\"", ".\\\""))
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=page.encode(),
                          capture_output=True)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def test_reference_is_up_to_date(tutti):
    made = tutti.ok("help", "--markdown").out
    assert (ROOT / "docs/cli.md").read_text() == made, "run `make docs`"


def test_reference_names_every_option_of_every_verb(tutti):
    made = tutti.ok("help", "--markdown").out
    for verb in re.findall(r"^\s+([a-z]+)\s{2,}", tutti.ok("help").out, re.M):
        for option in re.findall(r"--[a-z-]+", tutti.ok("help", verb).out):
            assert option in made, (verb, option)


def test_man_and_help_need_no_home(tutti):
    for call in (("help",), ("help", "--man"), ("help", "--markdown"), ("completions", "bash"),
                 ("version",)):
        assert tutti(*call, env={"TUTTI_HOME": None, "HOME": None}).code == 0
    assert not list(tutti.home.iterdir())


def test_benchmarks_renew_the_rows_that_were_measured_and_keep_the_others(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "bench")
    import bench
    readme = (ROOT / "README.md").read_text()
    assert bench.renewed(readme, []) == readme
    row = re.search(r"^\| (idle daemon and keeper: memory) \| (.*) \| (.*) \|$", readme, re.M)
    told = bench.renewed(readme, [(row[1], "9 MB", row[3], True), ("a new one", "1", "2", True)])
    assert told == readme.replace(row[0], row[0].replace(row[2], "9 MB")).replace(
        "<!-- bench:end -->", "| a new one | 1 | 2 |\n<!-- bench:end -->")


def test_what_is_installed_is_on_the_path_and_is_removed_again(tmp_path):
    install = ROOT / "tools/install-files"
    subprocess.run([install, BINARY, tmp_path], check=True, capture_output=True)
    folder = str(tmp_path / "bin")
    for program, call in (("tutti", "help"), ("tutti-gpu-emulator", "help"),
                          ("execute_batch", "--help"), ("execute_remote", "--help")):
        found = shutil.which(program, path=folder)
        assert found, program
        assert subprocess.run([found, call], capture_output=True).returncode == 0, program
    subprocess.run([install, "--remove", tmp_path], check=True)
    assert not [path for path in tmp_path.rglob("*") if not path.is_dir()]
