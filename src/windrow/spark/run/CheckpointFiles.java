package windrow;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Spark's notes in a checkpoint on a local disk, checksums included, as Hadoop writes them; but
 * Hadoop starts a process for each file that it writes, chmod, which is four in a micro-batch. See
 * java_classes.py, which compiles this.
 */
public class CheckpointFiles extends FileSystemBasedCheckpointFileManager {
  private final FileSystem files = new LocalFileSystem(new Plain());

  public CheckpointFiles(Path path, Configuration settings) throws IOException {
    super(path, settings);
    files.initialize(URI.create("file:///"), settings);
  }

  public FSDataOutputStream createTempFile(Path path) {
    try {
      return files.create(path, true);
    } catch (IOException failure) {
      throw new java.io.UncheckedIOException(failure);
    }
  }

  /** Local files whose permissions are set without a process. */
  public static class Plain extends RawLocalFileSystem {
    public void setPermission(Path path, FsPermission permission) throws IOException {
      try {
        Files.setPosixFilePermissions(
            pathToFile(path).toPath(), PosixFilePermissions.fromString(permission.toString()));
      } catch (UnsupportedOperationException elsewhere) {
        super.setPermission(path, permission);
      }
    }
  }
}
