"""Operators in JAX; needs jax."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import tenon.jax  # noqa: E402


def test_operators():
    x = jax.random.normal(jax.random.PRNGKey(0), (3, 8))
    np.testing.assert_allclose(tenon.jax.call("Softmax", x, axis=0), jax.nn.softmax(x, 0), rtol=1e-5)
    a, b = jnp.ones((4, 5)), jnp.arange(30.0).reshape(5, 6)
    np.testing.assert_allclose(tenon.jax.call("MatMul", a, b), a @ b, rtol=1e-5)
    first, second = tenon.jax.call("Split", jnp.arange(6), n_outputs=2, num_outputs=2)
    assert first.tolist() == [0, 1, 2] and second.tolist() == [3, 4, 5]
    half = jnp.ones(3, jnp.bfloat16)
    assert tenon.jax.call("Add", half, half).dtype == jnp.bfloat16


def test_traced():
    @jax.jit
    def f(x, y):
        for k in range(3):
            x = tenon.jax.call("Softmax", tenon.jax.call("Add", x, y), axis=k % 2)
        return x * 2

    x, y = jnp.ones((5, 4)), jnp.arange(4.0)
    expected = x
    for k in range(3):
        expected = jax.nn.softmax(expected + y, k % 2)
    for _ in range(3):
        np.testing.assert_allclose(f(x, y), 2 * expected, rtol=1e-5)
    batch = jnp.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_allclose(
        jax.vmap(lambda x: tenon.jax.call("Softmax", x, axis=0))(batch),
        jax.nn.softmax(batch, 1),
        rtol=1e-5,
    )


def test_a_plugin():
    paths = [p["path"] for p in tenon.Runtime().plugins() if p["name"] == "contrib"]
    if not paths:
        pytest.skip("there is no plug-in contrib")
    x = jnp.linspace(-3, 3, 16)
    y = tenon.jax.call("com.microsoft::QuickGelu", x, alpha=2.0)
    np.testing.assert_allclose(y, x * jax.nn.sigmoid(2 * x), rtol=1e-4, atol=1e-6)


def test_errors():
    x = jnp.ones((3, 8))
    for error, pattern, call in [
        (AttributeError, "Nothing", lambda: tenon.jax.call("Nothing", x)),
        (tenon.Error, "axis", lambda: tenon.jax.call("Softmax", x, axis=7)),
        (TypeError, "takes 1 arguments", lambda: tenon.jax.call("Softmax", x, x)),
        (TypeError, "depends on data", lambda: tenon.jax.call("NonZero", x)),
        (TypeError, "jax_enable_x64", lambda: tenon.jax.call("Shape", x)),
        (TypeError, "no argument 'axes'", lambda: tenon.jax.call("Softmax", x, axes=1)),
        (tenon.Error, "no/such.so", lambda: tenon.jax.load_plugin("/no/such.so")),
    ]:
        with pytest.raises(error, match=pattern):
            call()
    with pytest.raises(Exception, match="tenon: there is no operator 'Nothing'"):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        jax.ffi.ffi_call("tenon", shape)(x, op="Nothing", attributes="").block_until_ready()
    with pytest.raises(Exception, match="tenon: the attributes op and attributes"):
        jax.ffi.ffi_call("tenon", shape)(x, op=1, attributes="").block_until_ready()
    np.testing.assert_allclose(tenon.jax.call("Softmax", x), jnp.full((3, 8), 0.125), rtol=1e-5)
