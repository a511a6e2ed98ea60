"""`tf.contrib.tfprof.ProfileContext`: profiles of some of a program's runs."""

from __future__ import annotations

import pytest
from tests.profiler import test_profiler
from tests.profiler.test_profiler import BUILDER, QUIET

import stillflow as tf
from stillflow.protos import ProfileProto
from stillflow_contrib.tfprof import ProfileContext

model = test_profiler.model


class TestContext:
    def run(self, model, count, **arguments):
        graph, step, feeds = model
        with ProfileContext(**arguments) as context:
            context.add_auto_profiling("op", {**BUILDER.time_and_memory(), **QUIET}, [2])
            with tf.Session(graph=graph) as session:
                session.run(tf.global_variables_initializer())
                for _ in range(count):
                    session.run(step, feeds)
        return context

    def test_profiles_and_writes_chosen_runs(self, model, tmp_path):
        context = self.run(
            model, 5, profile_dir=str(tmp_path / "p"), trace_steps=[1, 3], dump_steps=[4]
        )
        assert set(context.get_profiles("op")) == {2}
        profile = ProfileProto.FromString((tmp_path / "p" / "profile_4").read_bytes())
        assert list(profile.steps) == [1, 2, 3]
        assert "product" in {node.name for node in profile.nodes.values()}
        with pytest.raises(ValueError, match="No autoprofiler for command: scope"):
            context.get_profiles("scope")

    def test_looks_at_a_graph_once(self, model, tmp_path, capsys):
        self.run(model, 5, profile_dir=str(tmp_path), trace_steps=[1, 2, 3], dump_steps=[4])
        assert capsys.readouterr().out.count("Parsing Inputs...") == 1

    def test_leaves_sessions_as_they_were(self, model, tmp_path):
        plain = tf.Session.run
        self.run(model, 1, profile_dir=str(tmp_path))
        assert tf.Session.run is plain

    def test_writes_traces_for_those_who_look_for_mistakes(self, model, tmp_path):
        self.run(model, 3, profile_dir=str(tmp_path), trace_steps=[1], debug=True)
        assert "step_stats" in (tmp_path / "run_meta_1").read_text()

    def test_does_nothing_if_it_is_not_enabled(self, tmp_path):
        with ProfileContext(None, enabled=False) as context:
            context.trace_next_step()
            context.dump_next_step()
            assert context.profiler is None

    def test_refuses(self):
        with pytest.raises(ValueError, match="Must have a directory"):
            ProfileContext("")
        with pytest.raises(ValueError, match="up to 100 steps"):
            ProfileContext("x", range(101))
