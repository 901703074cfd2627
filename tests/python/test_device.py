"""Models on a device have the values that they have on the CPU. Skipped in a build without CUDA; on the emulated device
where there is no GPU."""
import numpy as np
import pytest

import sinklab
from golden import MODELS


@pytest.mark.parametrize("dtype, bound", [("float32", 1e-4), ("bfloat16", 0.05)])
@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_a_device_has_the_values_of_the_cpu(name, dtype, bound):
    try:
        device = sinklab.load(MODELS / name, dtype=dtype, device="cuda")
    except sinklab.Error as error:
        if "this build has no CUDA" not in str(error):
            raise
        pytest.skip(str(error))
    cpu = sinklab.load(MODELS / name, dtype=dtype)
    ids = np.arange(12).reshape(2, 6) % 8
    (logits, cache), (expected, expected_cache) = device.run_with_cache(ids), cpu.run_with_cache(ids)
    np.testing.assert_allclose(logits, expected, atol=bound)
    assert list(cache) == list(expected_cache)
    for key in expected_cache:
        np.testing.assert_allclose(np.float64(cache[key]), np.float64(expected_cache[key]), atol=bound, err_msg=str(key))
    assert abs(device.loss(ids) - cpu.loss(ids)) < bound
    np.testing.assert_array_equal(device.generate([1, 2, 3], 4), cpu.generate([1, 2, 3], 4))
