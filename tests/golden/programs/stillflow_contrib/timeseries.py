"""Models of series: readers, windows, autoregressive and state space models in every mode."""

from __future__ import annotations

import shutil
import tempfile
import warnings

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

STEPS = np.arange(24)
TIMES = np.stack([STEPS, STEPS + STEPS // 8])[:, :20]
VALUES = np.stack([np.sin(TIMES / 3.0), 0.1 * TIMES + np.cos(TIMES)], 2)
KNOWN = np.cos(TIMES / 2.0).astype(np.float32)
SERIES = {"times": STEPS + STEPS // 10, "values": np.sin(STEPS / 3.0)}
FILE = "tests/golden/files/series.csv"


def _part(tf, name):
    ours = {"ar_model": "ar_model", "head": "head", "math_utils": "matrices",
            "anomaly": "anomaly_mixture", "estimators": "estimators",
            "networks": "prediction_networks"}
    theirs = {"anomaly": "ar_model", "networks": "ar_model"}
    return internal_module(tf, "stillflow_contrib.timeseries." + ours[name],
                           "contrib.timeseries.python.timeseries." + theirs.get(name, name))


def _state_space(tf, name, theirs=None):
    return internal_module(
        tf, "stillflow_contrib.timeseries.state_space." + name,
        "contrib.timeseries.python.timeseries.state_space_models." + (theirs or name))


def _dequeued(tf, features, times=1):
    """Return the elements of queues; there is one thread for each, so their order is fixed."""

    def call(session):
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        tf.train.start_queue_runners(session, coordinator)
        values = {}
        for step in range(times):
            for name, value in session.run(features).items():
                values[f"{name}_{step}"] = value
        coordinator.request_stop()
        return values

    return Run(call=call, facts={
        "shapes": {name: str(value.shape) for name, value in features.items()},
        "types": {name: value.dtype.name for name, value in features.items()}})


@program
def arrays_by_parts(tf):
    reader = tf.contrib.timeseries.NumpyReader(SERIES, read_num_records_hint=7)
    return _dequeued(tf, reader.read(), 4)


@program
def whole_arrays(tf):
    reader = tf.contrib.timeseries.NumpyReader(dict(SERIES, known=np.cos(STEPS)))
    features, labels = tf.contrib.timeseries.WholeDatasetInputFn(reader)()
    assert labels is None
    return _dequeued(tf, features)


def _csv(tf, **settings):
    return tf.contrib.timeseries.CSVReader(
        [FILE], column_names=("times", "values", "values"), skip_header_lines=1, **settings)


@program
def lines_by_parts(tf):
    return _dequeued(tf, _csv(tf, read_num_records_hint=11).read(), 2)


@program
def whole_files(tf):
    reader = _csv(tf, column_dtypes=(tf.int64, tf.float64, tf.float64))
    return _dequeued(tf, reader.read_full())


@program
def windows_in_order(tf):
    tf.set_random_seed(1)
    reader = tf.contrib.timeseries.NumpyReader(SERIES)
    make = tf.contrib.timeseries.RandomWindowInputFn(
        reader, window_size=4, batch_size=2, jitter=False, num_threads=1, shuffle_seed=3)
    # Which windows there are to choose from depends on how fast the queues are filled.
    return Run(facts={name: str(value.shape) for name, value in make()[0].items()})


@program
def windows_anywhere(tf):
    tf.set_random_seed(1)
    make = tf.contrib.timeseries.RandomWindowInputFn(
        _csv(tf), window_size=5, batch_size=3, num_threads=None, discard_out_of_order=False,
        queue_capacity_multiplier=50)
    features = make()[0]
    return Run(facts={name: str(value.shape) for name, value in features.items()})


@program
def windows_refused(tf):
    make = tf.contrib.timeseries
    fits = np.arange(3)
    return Run(facts={
        "short": raised(make.RandomWindowInputFn, make.NumpyReader(SERIES), 100, 2),
        "no_values": raised(make.NumpyReader, {"times": fits}),
        "lengths": raised(make.NumpyReader, {"times": fits, "values": np.arange(4)}),
        "scalar": raised(make.NumpyReader, {"times": 1, "values": np.ones([2, 2])}),
        "wide": raised(make.NumpyReader, {"times": fits, "values": np.ones([3, 2, 2])}),
        "deep": raised(make.NumpyReader,
                       {"times": np.ones([1, 3, 2]), "values": np.ones([1, 3, 2])}),
        "batch": raised(make.NumpyReader, {"times": np.ones([2, 3]), "values": np.ones([2, 3])}),
        "no_times": raised(make.CSVReader, "x", column_names=("values",)),
        "column": raised(make.CSVReader, "x", column_names=("times",)),
        "twice": raised(make.CSVReader, "x", column_names=("times", "times", "values")),
        "types": raised(make.CSVReader, "x", column_dtypes=(tf.int64,)),
    })


def _continuation(tf, **settings):
    evaluation = {"start_tuple": (np.ones([2, 3]), np.ones([2])), "times": np.array([[1, 2]] * 2)}
    return tf.contrib.timeseries.predict_continuation_input_fn(evaluation, **settings)


@program
def continuations(tf):
    features, _ = _continuation(tf, steps=3, exogenous_features={"known": np.ones([2, 3])})()
    later, _ = _continuation(tf, times=[[4, 5], [7, 9]])()
    return Run({"features": features["times"], "state": list(features["start_tuple"]),
                "known": features["known"], "later": later["times"]},
               setup=[tf.local_variables_initializer()],
               facts={"both": raised(_continuation, tf, steps=1, times=[[4]]),
                      "none": raised(_continuation, tf),
                      "batch": raised(_continuation, tf, times=[4, 5]),
                      "early": raised(_continuation, tf, times=[[2], [4]])})


def _trained(tf, estimator, features, steps=2, **settings):
    tf.set_random_seed(1)
    tf.train.create_global_step()
    with warnings.catch_warnings():
        # What is gathered of the powers of a window has sparse gradients.
        warnings.filterwarnings("ignore", "Converting sparse IndexedSlices")
        spec = estimator.model_fn(features, None, "train", None)
    return Run({"loss": spec.loss}, steps=steps, train=spec.train_op, setup=[
        tf.global_variables_initializer(), tf.local_variables_initializer()],
        facts={"variables": [each.name for each in tf.global_variables()],
               "trained": [each.name for each in tf.trainable_variables()]}, **settings)


def _evaluated(tf, estimator, features, mode="eval"):
    tf.set_random_seed(1)
    spec = estimator.model_fn(features, None, mode, None)
    fetches = dict(spec.predictions or {})
    if mode == "eval":
        fetches["loss"] = spec.loss
        fetches["update"] = [spec.eval_metric_ops[name][1] for name in
                             ("mean", "covariance", "times", "average_loss")]
    for name, output in (spec.export_outputs or {}).items():
        fetches["served_" + name] = dict(output.outputs)
    return Run(fetches, facts={"metrics": sorted(spec.eval_metric_ops or ())}, setup=[
        tf.global_variables_initializer(), tf.local_variables_initializer()])


def _features(tf, begin, end, known=False, width=2):
    features = {"times": tf.constant(TIMES[:, begin:end]),
                "values": tf.constant(VALUES[:, begin:end, :width].astype(np.float32))}
    if known:
        features["known"] = tf.constant(KNOWN[:, begin:end])
    return features


def _columns(tf, known):
    return [tf.feature_column.numeric_column("known")] if known else None


def _autoregressive(tf, known=False, width=2, **settings):
    settings = dict({"periodicities": [7, 5], "input_window_size": 6, "output_window_size": 3,
                     "num_time_buckets": 4}, **settings)
    return tf.contrib.timeseries.ARRegressor(
        num_features=width, exogenous_feature_columns=_columns(tf, known), model_dir="unused",
        **settings)


def _state(tf, window=6, width=2, known=0):
    """Return a state to predict from."""
    return (tf.constant(TIMES[:, :window]),
            tf.constant(VALUES[:, :window, :width].astype(np.float32)),
            tf.constant(KNOWN[:, :window, None][:, :, :known]))


@program(rtol=1e-4, reason="two steps of training")
def autoregressive_training(tf):
    return _trained(tf, _autoregressive(tf), _features(tf, 0, 9))


@program(rtol=1e-4, reason="two steps of training")
def autoregressive_layers(tf):
    estimator = _autoregressive(tf, known=True, hidden_layer_sizes=[5, 4],
                                loss=tf.contrib.timeseries.ARModel.SQUARED_LOSS,
                                optimizer=tf.train.AdamOptimizer(0.01))
    return _trained(tf, estimator, _features(tf, 0, 9, known=True))


@program(rtol=1e-4, reason="two steps of training")
def autoregressive_times_only(tf):
    return _trained(tf, _autoregressive(tf, input_window_size=0), _features(tf, 0, 3))


@program(rtol=1e-4, reason="logarithms of small densities")
def autoregressive_evaluation(tf):
    return _evaluated(tf, _autoregressive(tf, known=True), _features(tf, 0, 20, known=True))


@program(rtol=1e-4, reason="logarithms of small densities")
def autoregressive_squares(tf):
    estimator = _autoregressive(tf, loss=tf.contrib.timeseries.ARModel.SQUARED_LOSS,
                                input_window_size=0)
    return _evaluated(tf, estimator, _features(tf, 0, 20))


@program(rtol=1e-4, reason="predictions of predictions")
def autoregressive_predictions(tf):
    features = {"times": tf.constant(TIMES[:, 6:17]), "start_tuple": _state(tf, known=1),
                "known": tf.constant(KNOWN[:, 6:17])}
    return _evaluated(tf, _autoregressive(tf, known=True), features, "infer")


@program(rtol=1e-4, reason="predictions of predictions")
def autoregressive_long_outputs(tf):
    features = {"times": tf.constant(TIMES[:, 6:17]), "start_tuple": _state(tf)}
    estimator = _autoregressive(tf, input_window_size=2, output_window_size=4,
                                loss=tf.contrib.timeseries.ARModel.SQUARED_LOSS)
    return _evaluated(tf, estimator, features, "infer")


@program(rtol=1e-4, reason="two steps of training")
def autoregressive_anomalies(tf):
    return _trained(tf, _autoregressive(tf, anomaly_prior_probability=0.1,
                                        anomaly_distribution="cauchy"), _features(tf, 0, 9))


@program(rtol=1e-4, reason="logarithms of small densities")
def normal_anomalies(tf):
    estimator = _autoregressive(tf, anomaly_prior_probability=0.1, periodicities=None,
                                anomaly_distribution="gaussian")
    return _evaluated(tf, estimator, _features(tf, 0, 20))


@program(rtol=1e-4, reason="two steps of training")
def recurrent_training(tf):
    estimator = _part(tf, "estimators").LSTMAutoRegressor(
        periodicities=7, input_window_size=6, output_window_size=3, num_features=2, num_units=4,
        model_dir="unused")
    return _trained(tf, estimator, _features(tf, 0, 9))


def _refused(tf, run, estimator, begin=0, end=9, mode=None, **others):
    """Return the error in a new graph; features that are None are left out."""
    with tf.Graph().as_default():
        features = dict(_features(tf, begin, end), **others)
        features = {name: value for name, value in features.items() if value is not None}
        return raised(run, tf, estimator, features, *([mode] if mode else []))


def _labelled(tf, estimator, features):
    return estimator.model_fn(features, tf.constant(1), "train", None)


@program
def autoregressive_refused(tf):
    usual = _autoregressive(tf)
    return Run(facts={
        "distribution": raised(_autoregressive, tf, anomaly_distribution="cauchy"),
        "squares": raised(_autoregressive, tf, anomaly_prior_probability=0.1,
                          loss="squared_loss"),
        "window": _refused(tf, _trained, usual, 0, 5),
        "evaluated": _refused(tf, _evaluated, usual, 0, 5),
        "state": _refused(tf, _trained, usual, start_tuple=(1, 2, 3)),
        "no_values": _refused(tf, _evaluated, usual, values=None),
        "no_times": _refused(tf, _evaluated, usual, times=None),
        "flat_times": _refused(tf, _evaluated, usual, times=TIMES[0]),
        "features": _refused(tf, _evaluated, _autoregressive(tf, width=1)),
        "rank": _refused(tf, _evaluated, usual, known=KNOWN[0]),
        "length": _refused(tf, _evaluated, usual, known=KNOWN),
        "no_state": _refused(tf, _evaluated, usual, mode="infer"),
        "nothing_to_predict": _refused(tf, _evaluated, usual, times=None, mode="infer"),
        "labels": _refused(tf, _labelled, usual),
        "mode": _refused(tf, _evaluated, usual, mode="test"),
    })


def _structural(tf, known=False, width=2, **settings):
    settings = dict({"periodicities": [5, 6.5], "cycle_num_latent_values": [3, 5],
                     "moving_average_order": 1, "autoregressive_order": 2,
                     "model_dir": "unused"}, **settings)
    return tf.contrib.timeseries.StructuralEnsembleRegressor(
        num_features=width, exogenous_feature_columns=_columns(tf, known), **settings)


@program(rtol=1e-5, reason="filters through two steps of training")
def structural_training(tf):
    return _trained(tf, _structural(tf, width=1), _features(tf, 0, 12, width=1))


@program(rtol=1e-3, reason="filters in single precision")
def structural_known_features(tf):
    estimator = _structural(tf, known=True, dtype=tf.float32, periodicities=None,
                            cycle_num_latent_values=3, anomaly_prior_probability=0.05)
    return _trained(tf, estimator, _features(tf, 0, 8, known=True), steps=1)


@program(rtol=1e-5, reason="filters")
def structural_evaluation(tf):
    return _evaluated(tf, _structural(tf), _features(tf, 0, 20))


@program(rtol=1e-5, reason="filters")
def structural_predictions(tf):
    size = 10
    state = (tf.constant(np.linspace(0, 1, 2 * size).reshape([2, size])),
             tf.constant(np.stack([np.eye(size)] * 2)), tf.constant(TIMES[:, 8]))
    features = {"times": tf.constant(TIMES[:, 9:15]), "start_tuple": state}
    return _evaluated(tf, _structural(tf, width=1), features, "infer")


@program(rtol=1e-5, reason="filters")
def conditions_and_unrolled_windows(tf):
    space = _state_space(tf, "state_space_model")
    level = _state_space(tf, "level_trend")
    configuration = space.StateSpaceModelConfiguration(
        num_features=2, dtype=tf.float64, trainable_start_state=True,
        exogenous_noise_decreases=True, exogenous_feature_columns=_columns(tf, True),
        exogenous_update_condition=lambda times, features: tf.squeeze(
            features["known"] > 0) & (times > 0),
        bayesian_prior_weighting=False, static_unrolling_window_size_threshold=10)
    estimator = _part(tf, "estimators").StateSpaceRegressor(
        level.AdderStateSpaceModel(use_level_noise=False, configuration=configuration),
        model_dir="unused")
    return _trained(tf, estimator, _features(tf, 0, 3, known=True))


@program
def cycles(tf):
    periodic = _state_space(tf, "periodic")
    with tf.variable_scope("whole"):
        whole = periodic.CycleStateSpaceModel(5)
        whole.initialize_graph()
    with tf.variable_scope("parts"):
        parts = periodic.ResolutionCycleModel(3, 7.0)
        parts.initialize_graph()
    powers = tf.constant([0, 1, 4, 9])
    return Run({name: [model.transition_to_powers(powers),
                       model.transition_power_noise_accumulator(powers),
                       model.get_observation_model(powers)]
                for name, model in (("whole", whole), ("parts", parts))},
               setup=[tf.global_variables_initializer()],
               facts={"even": raised(periodic.ResolutionCycleModel, 4, 7)})


@program
def matrices(tf):
    math = _part(tf, "math_utils")
    batch = tf.constant(np.sin(np.arange(18.0)).reshape([2, 3, 3]))
    matrix = tf.constant(np.cos(np.arange(9.0)).reshape([3, 3]))
    unknown = tf.placeholder_with_default(batch, [None, None, None])
    return Run({
        "power_sums": math.power_sums_tensor(4, matrix, batch[0]),
        "powers": math.matrix_to_powers(matrix, [0, 1, 2, 5]),
        "batch_powers": math.batch_matrix_pow(unknown, [3, 4]),
        "toeplitz": math.make_toeplitz_matrix(batch, name="toeplitz"),
        "definite": math.sign_magnitude_positive_definite(batch, 0.5, [0.1, 0.2]),
        "left": math.batch_times_matrix(unknown, matrix, adj_x=True),
        "right": math.matrix_times_batch(matrix, batch, adj_y=True),
        "blocks": math.block_diagonal([matrix, batch[0, :2]], dtype=tf.float64),
        "clipped": math.clip_covariance(batch, 2.0, 0.25),
    })


def _served(tf, receiver):
    with tf.Graph().as_default():
        received = receiver()
        return {"features": {name: str(value) for name, value in received.features.items()},
                "receivers": sorted(received.receiver_tensors)}


@program(rtol=1e-4, reason="logarithms of small densities")
def a_served_model(tf):
    estimator = _autoregressive(tf, known=True)
    received = estimator.build_raw_serving_input_receiver_fn(2)()
    spec = estimator.model_fn(received.features, None, "infer", None)
    return Run(facts={
        name: [sorted(output.as_signature_def(received.receiver_tensors).inputs),
               sorted(output.outputs)] for name, output in spec.export_outputs.items()})


@program(rtol=1e-4, reason="logarithms of small densities")
def a_model_served_in_one_call(tf):
    estimator = _part(tf, "estimators").LSTMAutoRegressor(
        periodicities=7, input_window_size=4, output_window_size=4, num_units=3,
        extra_feature_columns=_columns(tf, True), model_dir="unused")
    received = estimator.build_one_shot_parsing_serving_input_receiver_fn(8, 5)()
    spec = estimator.model_fn(received.features, None, "infer", None)
    return Run(facts={
        name: [sorted(output.as_signature_def(received.receiver_tensors).inputs),
               sorted(output.outputs)] for name, output in spec.export_outputs.items()})


@program(rtol=1e-5, reason="filters in single precision, after a step of training")
def a_saved_model_called(tf):
    series, folder = tf.contrib.timeseries, tempfile.mkdtemp()
    utils = series.saved_model_utils
    estimator = _structural(tf, width=1, dtype=tf.float32, periodicities=None,
                            cycle_num_latent_values=3, model_dir=folder,
                            config=tf.estimator.RunConfig(tf_random_seed=1))
    reader = series.NumpyReader({"times": STEPS[:12], "values": np.sin(STEPS[:12] / 3.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of gradients of slices that become dense
        estimator.train(series.WholeDatasetInputFn(reader), steps=1)
    path = estimator.export_saved_model(folder, estimator.build_raw_serving_input_receiver_fn())
    with tf.Graph().as_default(), tf.Session() as session:
        signatures = tf.saved_model.loader.load(session, ["serve"], path)
        first = {"times": STEPS[:8], "values": np.sin(STEPS[:8] / 3.0)}
        state = utils.cold_start_filter(signatures, session, first)
        more = {"times": STEPS[8:11], "values": np.sin(STEPS[8:11] / 3.0)}
        later = utils.filter_continuation(state, signatures, session, more)
        predicted = utils.predict_continuation(later, signatures, session, steps=3)
        at_times = utils.predict_continuation(
            later, signatures, session, times=np.array([12, 14]), exogenous_features={})
        early = raised(utils.predict_continuation, later, signatures, session)
    shutil.rmtree(folder)
    return Run(facts={
        "keys": [sorted(found) for found in (state, later, predicted)], "neither": early,
        "times": [found["times"] for found in (state, later, predicted, at_times)],
        "means": [predicted["mean"], at_times["mean"]]})


@program
def receivers(tf):
    structural = _structural(tf, known=True)
    text = tf.feature_column.indicator_column(
        tf.feature_column.categorical_column_with_vocabulary_list("word", ["a", "b"]))
    one_shot = tf.contrib.timeseries.TimeSeriesRegressor(
        tf.contrib.timeseries.ARModel(
            [5], 4, 2, 1, exogenous_feature_columns=[text]), model_dir="unused",
        head_type=tf.contrib.timeseries.OneShotPredictionHead)
    build = one_shot.build_one_shot_parsing_serving_input_receiver_fn
    return Run(facts={
        "raw": _served(tf, structural.build_raw_serving_input_receiver_fn()),
        "sizes": _served(tf, structural.build_raw_serving_input_receiver_fn(3, 4)),
        "examples": _served(tf, build(4, 2, values_input_dtype=tf.int64)),
        "truncated": _served(tf, build(4, 2, default_batch_size=5, truncate_values=True)),
    })


@program
def arguments_refused(tf):
    space = _state_space(tf, "state_space_model")
    ours = _state_space(tf, "ensembles", "state_space_model")
    level = _state_space(tf, "level_trend")
    two = space.StateSpaceModelConfiguration(num_features=2)
    estimators = _part(tf, "estimators")
    model = level.AdderStateSpaceModel()
    ensemble = ours.StateSpaceCorrelatedFeaturesEnsemble
    return Run(facts={
        "periods": raised(_structural, tf, cycle_num_latent_values=[3, 5, 7]),
        "regressor": raised(estimators.StateSpaceRegressor, 3)["class"],
        "number": raised(ensemble, [model], two),
        "features": raised(ensemble, [level.AdderStateSpaceModel(configuration=two)] * 2, two),
        "not_initialized": raised(model.define_loss, {}, "train"),
        "generated": raised(level.AdderStateSpaceModel(configuration=two).generate, 1, 2),
        "configuration": list(two._asdict()),
    })
