import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import de.bwaldvogel.mongo.bson.Document;
import de.bwaldvogel.mongo.wire.message.MongoMessage;
import io.netty.channel.Channel;
import java.util.List;
import java.util.function.Supplier;
import org.h2.mvstore.MVStore;

/** A MongoDB-wire server on one file. Arguments: port, file. */
public final class MongoServerMain {
  public static void main(String[] args) {
    MVStore store = new MVStore.Builder().fileName(args[1]).autoCommitDisabled().open();
    // The file is safe from a kill of this process, not from a loss of power, so freed space may be used at once.
    store.setRetentionTime(0);
    MongoServer server = new MongoServer(new DurableBackend(store));
    try {
      server.bind("127.0.0.1", Integer.parseInt(args[0]));
    } catch (Exception error) {
      // Threads of the library would keep the process.
      error.printStackTrace();
      System.exit(1);
    }
    Runtime.getRuntime().addShutdownHook(new Thread(server::shutdownNow));
  }

  /** The library's own 5.0 announces wire version 8, which drivers refuse. */
  private static final class Version5 implements MongoVersion {
    @Override
    public List<Integer> getVersionArray() {
      return List.of(5, 0, 0);
    }

    @Override
    public int getWireVersion() {
      return 13;
    }
  }

  /** Acknowledges nothing that a kill of this process could take back. */
  private static final class DurableBackend extends H2Backend {
    private final MVStore store;
    private final Object applying = new Object();
    private final Object committing = new Object();
    private long applied = 0;
    private long committed = 0;

    DurableBackend(MVStore store) {
      super(store);
      this.store = store;
      version(new Version5());
    }

    @Override
    public Document handleMessage(MongoMessage message) {
      return durably(() -> withInsertCount(message.getDocument(), super.handleMessage(message)));
    }

    @Override
    public Document handleCommand(Channel channel, String database, String command, Document query) {
      boolean isHello = command.equals("hello");
      Document reply = super.handleCommand(channel, database, isHello ? "ismaster" : command, query);
      if (isHello) reply.put("isWritablePrimary", Boolean.TRUE);
      // Under the name that a real server has for it.
      if (command.equalsIgnoreCase("serverStatus"))
        ((Document) reply.get("metrics"))
            .put("queryExecutor", new Document("scannedObjects", IndexedDatabase.examined()));
      return reply;
    }

    @Override
    protected MongoDatabase openOrCreateDatabase(String name) {
      return IndexedDatabase.open(name, getMvStore(), getCursorRegistry());
    }

    /** One command at a time, so that a commit never holds half of one; all that wait share a commit. */
    private Document durably(Supplier<Document> command) {
      long mine;
      Document reply;
      synchronized (applying) {
        try {
          // The library answers with documents that the next command may change before this answer is on its way.
          reply = command.get().cloneDeeply();
        } finally {
          mine = ++applied;
        }
      }
      synchronized (committing) {
        if (committed < mine) commitApplied();
      }
      return reply;
    }

    private void commitApplied() {
      synchronized (applying) {
        if (store.hasUnsavedChanges()) store.commit();
        committed = applied;
      }
    }

    /** The library counts every document of an insert, also those that it refused. */
    private static Document withInsertCount(Document command, Document reply) {
      if (!command.containsKey("insert") || !(reply.get("writeErrors") instanceof List<?> errors)) return reply;
      if (errors.isEmpty()) return reply;
      boolean isOrdered = !Boolean.FALSE.equals(command.get("ordered"));
      int sent = ((List<?>) command.get("documents")).size();
      Object first = ((Document) errors.get(0)).get("index");
      reply.put("n", isOrdered ? first : Integer.valueOf(sent - errors.size()));
      return reply;
    }
  }
}
