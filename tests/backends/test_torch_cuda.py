"""PyTorch for CUDA without a device: what it says of memory, on PyTorch's own tensors."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dispatch_xp.backends import nvml
from dispatch_xp.backends.torch import TorchBackend, TorchCudaBackend

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
DOUBLE = np.dtype(np.float64)


class Tensor:
    """A tensor that says of its memory what a device would."""

    def __init__(self, tensor, locked):
        self._tensor, self._locked = tensor, locked

    def numpy(self):
        return self._tensor.numpy()

    def is_pinned(self):
        return self._tensor.data_ptr() in self._locked


@pytest.fixture
def backend():
    locked = set()

    def empty(n, dtype, pin_memory):
        assert pin_memory
        tensor = torch.empty(n, dtype=dtype)
        locked.add(tensor.data_ptr())
        return Tensor(tensor, locked)

    backend = TorchCudaBackend()
    backend.torch = SimpleNamespace(
        empty=empty,
        uint8=torch.uint8,
        from_numpy=lambda array: Tensor(torch.from_numpy(array), locked),
    )
    return backend


def test_page_locked_memory_is_told_apart(backend):
    x = backend.page_locked(8 * 24).view(DOUBLE)
    x[...] = 1.0
    assert backend.is_page_locked(x, DOUBLE)
    # converted on the device
    assert backend.is_page_locked(x, np.dtype("f4"))
    assert not backend.is_page_locked(np.ones(24), DOUBLE)


def test_what_is_copied_on_the_host_is_not_read_there(backend):
    x = backend.page_locked(8 * 24 + 8).view(DOUBLE)[:24].reshape(4, 6)
    assert not backend.is_page_locked(x.T, DOUBLE)
    shifted = x.view(np.uint8).reshape(-1)[1 : 1 + 8 * 20].view(DOUBLE)
    assert not backend.is_page_locked(shifted, DOUBLE)


def test_a_read_only_array_is_asked_about_in_silence(backend):
    x = backend.page_locked(8 * 24).view(DOUBLE)
    x.flags.writeable = False
    assert backend.is_page_locked(x, DOUBLE)


def test_pytorch_has_what_is_asked():
    assert torch.ones(3).is_pinned() is False
    assert "pin_memory" in torch.empty.__doc__


@pytest.mark.parametrize(("uuid", "name"), [("8a56-0", "GPU-8a56-0"), (None, "")])
def test_a_start_says_which_device_it_is(monkeypatch, uuid, name):
    """CUDA may count the devices in another order than the driver."""
    monkeypatch.setattr(nvml, "_OTHERS", {})
    monkeypatch.setattr("dispatch_xp.backends.torch.versions", lambda names: {"torch": "2.9+cu130"})
    monkeypatch.setattr(TorchBackend, "start", lambda self: None)
    backend = TorchCudaBackend()
    about = SimpleNamespace() if uuid is None else SimpleNamespace(uuid=uuid)
    backend.torch = SimpleNamespace(cuda=SimpleNamespace(get_device_properties=lambda index: about))
    backend.start()
    assert nvml.others(0)._name == name
    assert nvml.others(0)._is_ours_too
