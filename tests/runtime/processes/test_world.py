"""The place of a process among those that its launcher started."""

from __future__ import annotations

import pytest

from stillflow import errors
from stillflow.runtime.processes.world import World, first_host, from_environment, from_tf_config


def test_a_program_without_a_launcher_is_alone() -> None:
    assert from_environment({}) == World()


def test_torchrun_tells_ranks_machines_and_where_it_serves() -> None:
    world = from_environment(
        {
            "RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4",
            "GROUP_RANK": "1", "MASTER_ADDR": "w0", "MASTER_PORT": "1234",
            "TORCHELASTIC_USE_AGENT_STORE": "True",
        }
    )  # fmt: skip
    assert world == World(5, 8, 1, 4, 1, 2, ("w0", 1234), hosted=True)


def test_mpirun_tells_ranks_and_jobs_of_one_machine_have_ports_of_their_own() -> None:
    variables = {
        "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
        "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    }  # fmt: skip
    first = from_environment({**variables, "OMPI_MCA_ess_base_jobid": "3001"})
    second = from_environment({**variables, "OMPI_MCA_ess_base_jobid": "3002"})
    assert first[:6] == (1, 2, 1, 2, 0, 1)
    assert first.address[0] == "127.0.0.1"
    assert first.address != second.address


def test_mpich_and_intel_mpi() -> None:
    world = from_environment(
        {"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2",
         "MASTER_ADDR": "n0"}
    )  # fmt: skip
    assert world[:6] == (3, 4, 1, 2, 1, 2)


def test_processes_of_several_machines_have_to_know_where_rank_0_is() -> None:
    variables = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "4",
                 "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}  # fmt: skip
    with pytest.raises(errors.FailedPreconditionError, match="MASTER_ADDR"):
        from_environment(variables)


def test_slurm_tells_the_first_machine_and_counts_tasks_by_machine() -> None:
    world = from_environment(
        {
            "SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "1",
            "SLURM_TASKS_PER_NODE": "2(x2)", "SLURM_NODEID": "1", "SLURM_JOB_ID": "77",
            "SLURM_STEP_NODELIST": "gpu[07-08]",
        }
    )  # fmt: skip
    assert world == World(3, 4, 1, 2, 1, 2, ("gpu07", 29577))


def test_a_batch_script_of_slurm_is_one_process() -> None:
    assert from_environment({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}).size == 1


@pytest.mark.parametrize(
    ("nodes", "first"),
    [("a", "a"), ("a,b", "a"), ("gpu[3,5-9]", "gpu3"), ("gpu[007-9],b", "gpu007"), ("", "")],
)
def test_the_first_machine_of_slurms_list(nodes: str, first: str) -> None:
    assert first_host(nodes) == first


@pytest.mark.parametrize(
    "variables",
    [{"RANK": "x", "WORLD_SIZE": "2"}, {"RANK": "2", "WORLD_SIZE": "2"},
     {"RANK": "0", "WORLD_SIZE": "1", "MASTER_PORT": "http"}],
)  # fmt: skip
def test_variables_that_hold_no_rank_are_named(variables: dict[str, str]) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"=.*no"):
        from_environment(variables)


def test_a_cluster_in_tf_config_has_its_chief_first() -> None:
    variables = {
        "TF_CONFIG": '{"cluster": {"chief": ["a:2222"], "worker": ["a:2", "b:3"], "ps": ["p:1"]},'
        ' "task": {"type": "worker", "index": 1}}'
    }
    assert from_tf_config(variables) == World(2, 3, 0, 1, 1, 2, ("a", 10141))
    variables["TF_CONFIG"] = variables["TF_CONFIG"].replace('"index": 1', '"index": "0"')
    assert from_tf_config(variables) == World(1, 3, 1, 2, 0, 2, ("a", 10141))
    assert from_tf_config({**variables, "MASTER_PORT": "7"}).address == ("a", 7)


def test_tasks_that_are_no_workers_and_wrong_clusters() -> None:
    assert from_tf_config({}) is None
    cluster = '{"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "%s", "index": %d}}'
    assert from_tf_config({"TF_CONFIG": cluster % ("ps", 0)}) is None
    for wrong in ("{", cluster % ("worker", 5)):
        with pytest.raises(errors.InvalidArgumentError, match="TF_CONFIG"):
            from_tf_config({"TF_CONFIG": wrong})
