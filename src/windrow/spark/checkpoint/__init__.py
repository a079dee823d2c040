"""Checkpoints as files: what of one is damaged, and going back to the last batch that is whole.

Nothing here needs Spark or Java; the layout is that of Spark 4 and our files of state::

    spark/metadata                  an identity, which a streaming query has
    spark/offsets/<batch>           how far each source is read by a micro-batch, before it begins
    spark/commits/<batch>           written when the micro-batch is over
    .<name>.crc beside each         Hadoop's checksums, where a streaming query has written it
    state/                          see ``windrow.spark.stage.state_files``
"""
