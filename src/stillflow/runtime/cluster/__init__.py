"""Clusters of several processes: one graph whose parts run in the tasks their devices name.

Steps of a `Session.run` whose session has a server as its target:

* `master` asks which tasks there are, cuts what the run needs into one `GraphDef` for each task
  (`partition`), and hands these to the tasks once. Values and orders that go from one task to
  another become TensorFlow's own `_Send` and `_Recv` nodes.
* At each run all tasks begin at once (`guests`). A value goes straight from the task that made it
  to the one that takes it (`crossings`), and waits there in the step's box (`task_steps`).
* Variables, queues and so on belong to the `tasks`; they outlive sessions.
* `service` listens, `links` connect, `wire` says what goes over a connection.

The master is the process that made the session, so fed and fetched values take no detour, and a
step of a worker needs nobody but the tasks that its graph names.

The messages of our own protocol are in `protos/cluster.txt`. Clients of TensorFlow are served on
the same port by TensorFlow's own: `grpc_port` takes their connections, `master_service` keeps
their sessions, `tensor_coding` writes their tensors; the messages are in `protos/distributed.txt`.
`remote_master` is the session of a server of TensorFlow, which `grpc_client` calls. Among the tasks
of a cluster, `worker_service` does the parts of a master of TensorFlow, `remote_worker` gives parts
to a task of TensorFlow, and values are asked for (`peers`, `rendezvous`) instead of sent.
As with TensorFlow's servers, who can reach a port can run graphs there: networks of clusters are
private.
"""
