"""Checkpoints as files: what of one is damaged, and going back to the last batch that is whole.

Nothing here needs Spark or Java; the layout is that of Spark 4 with the RocksDB state store::

    spark/metadata                  the identity of the streaming query
    spark/offsets/<batch>           how far each source is read by a micro-batch, before it begins
    spark/commits/<batch>           written when the micro-batch is over
    spark/state/<operator>/<partition>/<version>.changelog   what micro-batch version - 1 changed
    spark/state/<operator>/<partition>/<version>.zip         all of it, with files of SSTs/
    .<name>.crc beside each         Hadoop's checksums
"""
