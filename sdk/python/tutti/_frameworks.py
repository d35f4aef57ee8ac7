"""What the machine-learning frameworks of this process are up to. None of them is imported here."""

from __future__ import annotations

import sys
from typing import Optional

# Those of the daemon (src/exec/keeper/memory_text.cc), in small letters; some are shorter.
_OUT_OF_MEMORY = (
    "cuda out of memory",
    "torch.cuda.outofmemoryerror",
    "torch.outofmemoryerror",
    "hip out of memory",
    "cuda error: out of memory",
    "hip error: out of memory",
    "cuda driver error: out of memory",
    "cuda_error_out_of_memory",
    "cudaerrormemoryallocation",
    "hiperroroutofmemory",
    "hip_error_outofmemory",
    "resource_exhausted",
    "oom when allocating",
    "cupy.cuda.memory.outofmemoryerror",
    "cublas_status_alloc_failed",
)
_LONGEST_CHAIN = 8


def is_out_of_memory(error: Optional[BaseException]) -> bool:
    """Whether an exception, or what caused it, says that a GPU's memory was not enough."""
    for _ in range(_LONGEST_CHAIN):
        if error is None:
            return False
        if _says_out_of_memory(error):
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


def _says_out_of_memory(error: BaseException) -> bool:
    for kind in type(error).__mro__:
        module = kind.__module__.split(".")[0]
        if kind.__name__ == "OutOfMemoryError" and module in ("torch", "cupy"):
            return True
    texts = [str(error)]
    # subprocess.CalledProcessError carries what the child printed.
    for name in ("stderr", "output"):
        printed = getattr(error, name, None)
        if isinstance(printed, bytes):
            printed = printed.decode("utf-8", "replace")
        if isinstance(printed, str):
            texts.append(printed)
    told = "\n".join(texts).lower()
    return any(words in told for words in _OUT_OF_MEMORY)


def with_gpu_in_use() -> Optional[str]:
    """The name of a framework that has chosen its GPUs already, if there is one."""
    for name, ask in (("torch", _torch), ("jax", _jax), ("tensorflow", _tensorflow)):
        try:
            if ask():
                return name
        except Exception:  # the insides of another version; not worth a failure
            continue
    return None


def _torch() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_initialized())


def _jax() -> bool:
    bridge = sys.modules.get("jax._src.xla_bridge")
    backends = getattr(bridge, "_backends", None) or {}
    return any(name in backends for name in ("cuda", "rocm", "gpu"))


def _tensorflow() -> bool:
    module = sys.modules.get("tensorflow.python.eager.context")
    context = getattr(module, "_context", None)
    devices = getattr(context, "_logical_devices", None) or ()
    return any(device.device_type == "GPU" for device in devices)


def free_cached_memory() -> None:
    """Gives back what torch keeps for later, so that a retry finds it."""
    torch = sys.modules.get("torch")
    try:
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()
    except Exception:  # after an out-of-memory error the device may refuse anything
        pass
