package windrow;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.V1Scan;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceCreationResult;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScanBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.Or;
import org.apache.spark.sql.sources.TableScan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.runtime.AbstractFunction0;

/**
 * The format "windrow": Spark's own source in Python, but each scan keeps to itself what came of
 * its filters, and reads the columns that it needs. See format.py, which compiles this. Generic
 * types are left out because the compiler that Spark brings does not know all of them.
 */
public class Format extends PythonDataSourceV2 implements DataSourceRegister {
  /** The name under which the source in Python is registered. */
  static final String SOURCE = "windrow-archive";

  public String shortName() {
    return "windrow";
  }

  public void setShortName(String name) {
    super.setShortName(SOURCE);
  }

  /**
   * The version and the moment are those of now, even if somebody gave a schema. If whole Parquet
   * runs can be read, the source says which in the metadata of the first column.
   */
  public Table getTable(StructType schema, Transform[] partitioning, Map properties) {
    this.getOrCreateDataSourceInPython(
        SOURCE, new CaseInsensitiveStringMap(properties), Option.apply(schema));
    StructField[] fields = (StructField[]) schema.fields().clone();
    if (fields.length == 0 || !fields[0].metadata().contains("windrow")) {
      return new Loaded(this, schema, null);
    }
    StructField first = fields[0];
    fields[0] = new StructField(first.name(), first.dataType(), first.nullable(), Metadata.empty());
    return new Loaded(this, new StructType(fields), first.metadata().getMetadata("windrow"));
  }

  /** What load() made; all scans share the source in Python. */
  static class Loaded extends PythonTable {
    private final Format format;
    private final Metadata whole;

    Loaded(Format format, StructType schema, Metadata whole) {
      super(format, SOURCE, schema);
      this.format = format;
      this.whole = whole;
    }

    public String name() {
      return this.format.shortName();
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return new Wanted(this.format, this.schema(), options, this.whole);
    }
  }

  /** What one query wants of it. Spark filters the rows again, so all filters are given back. */
  static class Wanted
      implements ScanBuilder, SupportsPushDownFilters, SupportsPushDownRequiredColumns {
    private final Format format;
    private final StructType schema;
    private final CaseInsensitiveStringMap options;
    private final Metadata whole;
    private StructType columns;
    private Filter[] filters = new Filter[0];

    Wanted(
        Format format, StructType schema, CaseInsensitiveStringMap options, Metadata whole) {
      this.whole = whole;
      this.format = format;
      this.schema = schema;
      this.columns = schema;
      this.options = options;
    }

    public Filter[] pushFilters(Filter[] all) {
      this.filters = new Filter[all.length];
      for (int i = 0; i < all.length; i++) {
        List values = new ArrayList();
        String column = all[i] instanceof Or ? listed(all[i], values) : null;
        this.filters[i] = column == null ? all[i] : new In(column, values.toArray());
      }
      return all;
    }

    /** The column that must have one of the values, which are added; null if others are asked. */
    private static String listed(Filter filter, List values) {
      if (filter instanceof Or) { // of which Spark tells Python nothing
        String left = listed(((Or) filter).left(), values);
        String right = listed(((Or) filter).right(), values);
        return left != null && left.equals(right) ? left : null;
      }
      if (filter instanceof EqualTo) {
        values.add(((EqualTo) filter).value());
        return ((EqualTo) filter).attribute();
      }
      if (filter instanceof In) {
        values.addAll(Arrays.asList(((In) filter).values()));
        return ((In) filter).attribute();
      }
      return null;
    }

    public Filter[] pushedFilters() {
      return new Filter[0];
    }

    /** Whole columns; the last if there are none, for a batch without columns has no rows. */
    public void pruneColumns(StructType required) {
      StructField[] all = this.schema.fields();
      List kept = new ArrayList();
      for (int i = 0; i < all.length; i++) {
        if (required.getFieldIndex(all[i].name()).isDefined()) {
          kept.add(all[i]);
        }
      }
      if (kept.isEmpty() && all.length > 0) {
        kept.add(all[all.length - 1]);
      }
      this.columns = new StructType((StructField[]) kept.toArray(new StructField[0]));
    }

    /**
     * Spark refuses a reader that takes filters in if, when the read is planned, it is not set to
     * push them; so it is planned here, where the setting is known.
     */
    public Scan build() {
      final Scanned source = new Scanned(this.format);
      final PythonScanBuilder builder =
          new PythonScanBuilder(source, SOURCE, this.columns, this.options);
      SQLConf conf = SQLConf.get().clone();
      conf.setConfString("spark.sql.python.filterPushdown.enabled", "true");
      SQLConf.withExistingConf(
          conf,
          new AbstractFunction0() {
            public Object apply() {
              try {
                builder.pushFilters(Wanted.this.filters);
              } catch (Exception error) {
                // A value that Python cannot have, in whatever column: nothing is looked up. An
                // error of any other kind comes again in the next line.
              }
              return source.getOrCreateReadInfo(
                  SOURCE, Wanted.this.options, Wanted.this.columns, false);
            }
          });
      boolean isWhole = this.whole != null && builder.pushedFilters().length == 0;
      return isWhole ? new Whole(this.columns, this.whole) : builder.build();
    }
  }

  /** Parquet runs, read by Spark itself if nothing is looked up; planning has taken the lease. */
  static class Whole implements V1Scan {
    private final StructType columns;
    private final Metadata told;

    Whole(StructType columns, Metadata told) {
      this.columns = columns;
      this.told = told;
    }

    public StructType readSchema() {
      return this.columns;
    }

    public BaseRelation toV1TableScan(SQLContext context) {
      StructType schema = (StructType) DataType.fromJson(this.told.getString("schema"));
      Metadata[] runs = this.told.getMetadataArray("runs");
      StructField[] fields = this.columns.fields();
      Column[] names = new Column[fields.length];
      for (int i = 0; i < fields.length; i++) {
        names[i] = functions.col("`" + fields[i].name().replace("`", "``") + "`");
      }
      Dataset all = null;
      for (int i = 0; i < runs.length; i++) {
        Dataset some = context.sparkSession().read().schema(schema)
            .option("parquet.page.verify-checksum.enabled", true)
            .parquet(runs[i].getStringArray("files"))
            .where(runs[i].getString("where"))
            .select(names);
        all = all == null ? some : all.union(some);
      }
      return new Rows(context, this.columns, all);
    }
  }

  /** The rows of a query of their own. */
  static class Rows extends BaseRelation implements TableScan {
    private final SQLContext context;
    private final StructType columns;
    private final Dataset rows;

    Rows(SQLContext context, StructType columns, Dataset rows) {
      this.context = context;
      this.columns = columns;
      this.rows = rows;
    }

    public SQLContext sqlContext() {
      return this.context;
    }

    public StructType schema() {
      return this.columns;
    }

    public boolean needConversion() {
      return false; // they are Spark's own rows
    }

    public String toString() {
      return "windrow, whole Parquet runs";
    }

    public RDD buildScan() {
      return ((org.apache.spark.sql.classic.Dataset) this.rows).queryExecution().toRdd();
    }
  }

  /** Where Spark keeps what came of the filters: one for each scan. */
  static class Scanned extends PythonDataSourceV2 {
    private final Format format;

    Scanned(Format format) {
      this.format = format;
    }

    public UserDefinedPythonDataSource source() {
      return this.format.source();
    }

    public PythonDataSourceCreationResult getOrCreateDataSourceInPython(
        String name, CaseInsensitiveStringMap options, Option schema) {
      return this.format.getOrCreateDataSourceInPython(name, options, schema);
    }
  }
}
