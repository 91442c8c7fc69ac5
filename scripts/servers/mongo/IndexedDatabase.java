import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.backend.CollectionOptions;
import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.QueryResult;
import de.bwaldvogel.mongo.backend.h2.H2Collection;
import de.bwaldvogel.mongo.backend.h2.H2Database;
import de.bwaldvogel.mongo.bson.Document;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;

/**
 * The library looks into an index only if it is unique and the filter names its fields and nothing else; here each declared index serves
 * what a real server's would. Counts the documents that filters were held against.
 */
final class IndexedDatabase extends H2Database {
  private static final AtomicLong EXAMINED = new AtomicLong();
  private final MVStore own;

  /** Set by the constructor of the parent, which opens collections before this one has its fields. */
  private static final ThreadLocal<MVStore> OPENING = new ThreadLocal<>();

  static IndexedDatabase open(String name, MVStore store, CursorRegistry cursors) {
    OPENING.set(store);
    try {
      return new IndexedDatabase(name, store, cursors);
    } finally {
      OPENING.remove();
    }
  }

  private IndexedDatabase(String name, MVStore store, CursorRegistry cursors) {
    super(name, store, cursors);
    this.own = store;
  }

  static long examined() {
    return EXAMINED.get();
  }

  @Override
  protected MongoCollection<Object> openOrCreateCollection(String name, CollectionOptions options) {
    MVStore store = own == null ? OPENING.get() : own;
    String fullName = getDatabaseName() + "." + name;
    // The names under which the library keeps them.
    MVMap<Object, Document> data = store.openMap("databases." + fullName);
    MVMap<String, Object> meta = store.openMap("meta." + fullName);
    return new IndexedCollection(this, name, options, data, meta, cursorRegistry);
  }

  private static final class IndexedCollection extends H2Collection {
    private final List<OrderedIndex> ordered = new ArrayList<>();

    IndexedCollection(
        MongoDatabase database,
        String name,
        CollectionOptions options,
        MVMap<Object, Document> data,
        MVMap<String, Object> meta,
        CursorRegistry cursors) {
      super(database, name, options, data, meta, cursors);
    }

    @Override
    public synchronized void addIndex(Index<Object> index) {
      boolean isKnown = ordered.stream().anyMatch(one -> one.name().equals(index.getName()));
      super.addIndex(index);
      if (isKnown) return;
      OrderedIndex made = new OrderedIndex(index);
      streamAllDocumentsWithPosition().forEach(one -> made.add(one.getDocument(), one.getPosition()));
      ordered.add(made);
    }

    @Override
    public synchronized void dropIndex(String name) {
      super.dropIndex(name);
      ordered.removeIf(one -> one.name().equals(name));
    }

    @Override
    protected Object addDocumentInternal(Document document) {
      Object position = super.addDocumentInternal(document);
      for (OrderedIndex index : ordered) index.add(document, position);
      return position;
    }

    @Override
    protected void removeDocument(Object position) {
      Document gone = getDocument(position);
      super.removeDocument(position);
      for (OrderedIndex index : ordered) index.remove(gone, position);
    }

    @Override
    protected void handleUpdate(Object position, Document before, Document after) {
      super.handleUpdate(position, before, after);
      for (OrderedIndex index : ordered) {
        index.remove(before, position);
        index.add(after, position);
      }
    }

    @Override
    protected QueryResult queryDocuments(
        Document query, Document orderBy, int skip, int limit, int batchSize, Document fields) {
      Document filter = query == null ? new Document() : query;
      OrderedIndex.Plan plan =
          ordered.stream()
              .map(index -> index.plan(filter, orderBy))
              .filter(Objects::nonNull)
              .max(Comparator.comparingInt(OrderedIndex.Plan::worth))
              .orElse(null);
      if (plan == null) return matchDocuments(query, orderBy, skip, limit, batchSize, fields);
      Stream<Document> found = plan.positions().map(this::getDocument);
      return matchDocumentsFromStream(found, query, plan.isOrdered() ? null : orderBy, skip, limit, batchSize, fields);
    }

    @Override
    protected boolean documentMatchesQuery(Document document, Document query) {
      EXAMINED.incrementAndGet();
      return super.documentMatchesQuery(document, query);
    }
  }
}
