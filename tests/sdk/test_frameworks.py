"""Real PyTorch and JAX train on the CPU under the decorator, each in a process of its own."""

import importlib.util

import re

import pytest

from tutti._frameworks import is_out_of_memory
from waiting import ROOT

TORCH = """
import os, sys, tutti

@tutti.gpu()
def train(steps):
    import torch
    assert os.environ["CUDA_VISIBLE_DEVICES"].startswith("GPU-")
    torch.manual_seed(0)
    x = torch.randn(64, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(loss)

print(train(1) > 0.1, train(200) < 0.01)
"""

JAX = """
import os, sys, tutti
os.environ["JAX_PLATFORMS"] = "cpu"

@tutti.gpu()
def train(steps):
    import jax, jax.numpy as jnp
    assert os.environ["CUDA_VISIBLE_DEVICES"].startswith("GPU-")
    x = jax.random.normal(jax.random.PRNGKey(0), (64, 3))
    y = x @ jnp.array([1.0, -2.0, 0.5])
    loss = lambda w: jnp.mean((x @ w - y) ** 2)
    step = jax.jit(lambda w: w - 0.1 * jax.grad(loss)(w))
    w = jnp.zeros(3)
    for _ in range(steps):
        w = step(w)
    return float(loss(w))

print(train(1) > 0.1, train(200) < 0.01)
"""

OUT_OF_MEMORY = """
import tutti, torch
calls = []

@tutti.gpu(oom_retries=1)
def train():
    calls.append(1)
    kind = getattr(torch, "OutOfMemoryError", None) or torch.cuda.OutOfMemoryError
    raise kind("Tried to allocate 2.00 GiB")

try:
    train()
except RuntimeError as error:
    print(len(calls), type(error).__name__)
"""


def needs(module):
    return pytest.mark.skipif(importlib.util.find_spec(module) is None,
                              reason=f"{module} is not installed")


def check_trains(run_python, text):
    done = run_python(text)
    assert done.stdout == "True True\n"
    assert "tutti" not in done.stderr


@needs("torch")
def test_torch_trains_beside_a_fake_daemon(server, run_python):
    check_trains(run_python, TORCH)


@needs("jax")
def test_jax_trains_beside_a_fake_daemon(server, run_python):
    check_trains(run_python, JAX)


@needs("torch")
def test_torchs_own_out_of_memory_is_retried(server, run_python):
    assert run_python(OUT_OF_MEMORY).stdout == "2 OutOfMemoryError\n"
    assert [outcome for _, outcome, _ in server.ended] == ["out_of_memory"] * 2


@pytest.mark.real
@needs("torch")
def test_torch_trains_on_the_real_daemon(gpus4, run_python):
    check_trains(run_python, TORCH)


@pytest.mark.real
@needs("jax")
def test_jax_trains_on_the_real_daemon(gpus4, run_python):
    check_trains(run_python, JAX)


def test_the_daemons_words_for_out_of_memory_are_known_here_too():
    text = (ROOT / "src/exec/keeper/memory_text.cc").read_text()
    phrases = re.findall(r'"(.+)",', text.split("kDevicePhrases = {")[1].split("};")[0])
    assert len(phrases) > 10
    assert [phrase for phrase in phrases if not is_out_of_memory(RuntimeError(phrase))] == []


def test_cupys_own_out_of_memory_is_known_by_its_class():
    kind = type("OutOfMemoryError", (MemoryError,), {"__module__": "cupy.cuda.memory"})
    assert is_out_of_memory(kind("Out of memory allocating 8 bytes"))
    assert not is_out_of_memory(MemoryError("Out of memory allocating 8 bytes"))
