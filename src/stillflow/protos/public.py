"""The messages that are part of the public API: public name -> name in `stillflow.protos`."""

from __future__ import annotations

PUBLIC = {
    # Graphs.
    "AttrValue": "AttrValue",
    "GraphDef": "GraphDef",
    "MetaGraphDef": "MetaGraphDef",
    "NameAttrList": "NameAttrList",
    "NodeDef": "NodeDef",
    "TensorInfo": "TensorInfo",
    # Sessions.
    "ConfigProto": "ConfigProto",
    "GPUOptions": "GPUOptions",
    "GraphOptions": "GraphOptions",
    "OptimizerOptions": "OptimizerOptions",
    "RunMetadata": "RunMetadata",
    "RunOptions": "RunOptions",
    # Event files.
    "Event": "Event",
    "HistogramProto": "HistogramProto",
    "LogMessage": "LogMessage",
    "SessionLog": "SessionLog",
    "Summary": "Summary",
    "SummaryMetadata": "SummaryMetadata",
    "summary.Event": "Event",
    "summary.SessionLog": "SessionLog",
    "summary.Summary": "Summary",
    "summary.SummaryDescription": "SummaryDescription",
    "summary.TaggedRunMetadata": "TaggedRunMetadata",
    # Examples.
    "train.BytesList": "BytesList",
    "train.Example": "Example",
    "train.Feature": "Feature",
    "train.FeatureList": "FeatureList",
    "train.FeatureLists": "FeatureLists",
    "train.Features": "Features",
    "train.FloatList": "FloatList",
    "train.Int64List": "Int64List",
    "train.SequenceExample": "SequenceExample",
    # Clusters, checkpoints.
    "train.ClusterDef": "ClusterDef",
    "train.JobDef": "JobDef",
    "train.SaverDef": "SaverDef",
    "train.ServerDef": "ServerDef",
    "contrib.checkpoint.CheckpointableObjectGraph": "TrackableObjectGraph",
    # Tools.
    "profiler.AdviceProto": "AdviceProto",
    "profiler.GraphNodeProto": "GraphNodeProto",
    "profiler.MultiGraphNodeProto": "MultiGraphNodeProto",
    "profiler.OpLogProto": "OpLogProto",
    "contrib.tensorboard.plugins.projector.EmbeddingInfo": "EmbeddingInfo",
    "contrib.tensorboard.plugins.projector.ProjectorConfig": "ProjectorConfig",
    "contrib.tensorboard.plugins.projector.SpriteMetadata": "SpriteMetadata",
}
