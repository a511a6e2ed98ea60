"""Models whose batches are shared among GPUs."""

from __future__ import annotations

from types import SimpleNamespace

from tests.golden.registry import Run, program


def parallel(tf, model, gpus, **options):
    """Return the towers of a model that is built in a session which tells of four GPUs."""

    class Session(tf.Session):
        asked = False

        def list_devices(self):
            if not self.asked:
                return super().list_devices()
            names = ("CPU:0", "GPU:0", "GPU:1", "GPU:2", "GPU:3")
            start = "/job:localhost/replica:0/task:0/device:"
            return [SimpleNamespace(name=start + name) for name in names]

    tf.set_random_seed(3)
    with Session() as session:
        built = model(tf.keras)
        tf.keras.backend.get_session()
        session.asked = True
        return tf.keras.utils.multi_gpu_model(built, gpus, **options)


def sequential(keras):
    return keras.Sequential([keras.layers.Dense(3, input_shape=(4,), activation="tanh")])


def with_two_outputs(keras):
    x = keras.Input((4,), name="x")
    shared = keras.layers.Dense(2, name="shared")
    return keras.Model(x, [shared(x), shared(keras.layers.ReLU()(x))])


def told(model):
    return Run(
        facts={
            "layers": [layer.name for layer in model.layers],
            "outputs": [y.op.name for y in model.outputs],
            "shapes": [str(y.shape) for y in model.outputs],
            "devices": [y.device for y in model.outputs],
        }
    )


@program
def two_gpus(tf):
    return told(parallel(tf, sequential, 2))


@program
def chosen_gpus(tf):
    return told(parallel(tf, sequential, [3, 1], cpu_merge=False))


@program
def variables_on_the_cpu(tf):
    return told(parallel(tf, sequential, 2, cpu_relocation=True))


@program
def outputs_of_one_layer(tf):
    return told(parallel(tf, with_two_outputs, (0, 2, 3)))


@program(fails=True)
def one_gpu(tf):
    parallel(tf, sequential, 1)


@program(fails=True)
def list_of_one_gpu(tf):
    parallel(tf, sequential, [2])


@program(fails=True)
def gpus_that_are_not_there(tf):
    parallel(tf, sequential, 5)
