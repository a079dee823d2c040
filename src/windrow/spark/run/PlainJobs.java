package windrow;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaRDD;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction2;

/**
 * Runs a job and gathers what its partitions give, on one machine. Spark searches the code of every
 * closure that it is given, every time, which takes longer than a small job; this function is no
 * closure.
 */
public class PlainJobs {

  /** All that a partition gives: arrays of bytes. */
  public static class Gather extends AbstractFunction2 implements Serializable {
    public Object apply(Object context, Object values) {
      scala.collection.Iterator left = (scala.collection.Iterator) values;
      List found = new ArrayList();
      while (left.hasNext()) {
        found.add(left.next());
      }
      return found.toArray();
    }
  }

  private SparkContext context;

  public void useContext(SparkContext context) {
    this.context = context;
  }

  /** The values of all partitions in their order, each after its length. */
  public byte[] run(JavaRDD values) {
    Object[] parts =
        (Object[])
            context.runJob(
                values.rdd(), new Gather(), ClassTag$.MODULE$.apply(Object[].class));
    int size = 0;
    for (int i = 0; i < parts.length; i++) {
      Object[] part = (Object[]) parts[i];
      for (int j = 0; j < part.length; j++) {
        size += 4 + ((byte[]) part[j]).length;
      }
    }
    ByteBuffer all = ByteBuffer.allocate(size);
    for (int i = 0; i < parts.length; i++) {
      Object[] part = (Object[]) parts[i];
      for (int j = 0; j < part.length; j++) {
        byte[] value = (byte[]) part[j];
        all.putInt(value.length);
        all.put(value);
      }
    }
    return all.array();
  }
}
