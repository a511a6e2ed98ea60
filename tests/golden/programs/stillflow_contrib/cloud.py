"""Credentials and blocks of Google Cloud Storage: the operations that configure it."""

from tests.golden.registry import Run, program, raised

USER = {"client_id": "i", "client_secret": "s", "refresh_token": "r", "type": "authorized_user"}


@program
def configured_by_a_hook(tf):
    cloud = tf.contrib.cloud
    cloud.ConfigureGcsHook(USER, cloud.BlockCacheParams()).begin()  # to run it asks Google
    cloud.ConfigureGcsHook().begin()
    hook = cloud.ConfigureGcsHook(block_cache=cloud.BlockCacheParams(1024, 4096, 5))
    hook.begin()
    facts = {name: raised(cloud.ConfigureGcsHook, given) for name, given in
             {"empty": "{}", "number": 3}.items()}
    return Run(call=lambda session: hook.after_create_session(session, None), facts=facts)


@program
def configured_in_a_session(tf):
    cloud = tf.contrib.cloud
    with tf.Session() as session:  # without credentials: to set these TensorFlow asks Google
        cloud.configure_gcs(session)
        cloud.configure_gcs(session, block_cache=cloud.BlockCacheParams(7), device="/cpu:0")
    return Run({})
