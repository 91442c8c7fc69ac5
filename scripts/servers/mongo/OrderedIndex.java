import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.KeyValue;
import de.bwaldvogel.mongo.backend.Missing;
import de.bwaldvogel.mongo.backend.Utils;
import de.bwaldvogel.mongo.backend.ValueComparator;
import de.bwaldvogel.mongo.bson.BsonRegularExpression;
import de.bwaldvogel.mongo.bson.Document;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** The entries of one declared index in their order, in memory: equal fields first, then a range, then the order that is asked for. */
final class OrderedIndex {
  private static final ValueComparator VALUES = ValueComparator.ascWithoutListHandling();
  private static final int WHOLE = 1_000;
  private static final Set<String> LOWER = Set.of("$gt", "$gte");
  private static final Set<String> UPPER = Set.of("$lt", "$lte");

  private final Index<Object> declared;
  private final List<String> fields;
  private final NavigableSet<Entry> entries = new TreeSet<>(OrderedIndex::compare);
  /** Those that held a list once: one document has several entries then, and two bounds may be met by two elements. */
  private final Set<String> lists = new HashSet<>();

  OrderedIndex(Index<Object> declared) {
    this.declared = declared;
    this.fields = declared.getKeys().stream().map(IndexKey::getKey).toList();
  }

  String name() {
    return declared.getName();
  }

  void add(Document document, Object position) {
    for (String field : fields)
      if (Utils.getSubdocumentValueCollectionAware(document, field) instanceof Collection) lists.add(field);
    for (List<Object> values : valuesOf(document)) entries.add(new Entry(values, position, 0));
  }

  void remove(Document document, Object position) {
    for (List<Object> values : valuesOf(document)) entries.remove(new Entry(values, position, 0));
  }

  private List<List<Object>> valuesOf(Document document) {
    List<List<Object>> found = new ArrayList<>();
    for (KeyValue values : declared.getKeyValues(document)) found.add(values.stream().toList());
    // An empty list has no element, and its document is found all the same by the other fields.
    if (found.isEmpty()) found.add(fields.stream().map(field -> scalarOf(document, field)).toList());
    return found;
  }

  private static Object scalarOf(Document document, String field) {
    Object value = Utils.getSubdocumentValueCollectionAware(document, field);
    return value instanceof Collection ? Missing.getInstance() : value;
  }

  /** Null when it serves neither the filter nor the order. */
  Plan plan(Document filter, Document orderBy) {
    List<List<Object>> prefixes = List.of(List.of());
    int equal = 0;
    for (; equal < fields.size(); equal++) {
      Collection<?> wanted = wantedOf(filter, fields.get(equal));
      // One list of values alone: several multiply.
      if (wanted == null || (wanted.size() != 1 && prefixes.size() != 1)) break;
      List<List<Object>> longer = new ArrayList<>();
      for (List<Object> prefix : prefixes)
        for (Object value : wanted) longer.add(append(prefix, value));
      prefixes = longer;
    }
    Document range = equal < fields.size() ? rangeOf(filter, fields.get(equal)) : null;
    int direction = prefixes.size() == 1 ? direction(orderBy, filter, equal) : 0;
    if (equal == 0 && range == null && direction == 0) return null;
    return new Plan(prefixes, range, equal, direction);
  }

  private static List<Object> append(List<Object> prefix, Object value) {
    List<Object> longer = new ArrayList<>(prefix);
    longer.add(value);
    return longer;
  }

  /** The values that the field may have, or null when the filter does not list them. */
  private static Collection<?> wantedOf(Document filter, String field) {
    if (!filter.containsKey(field)) return null;
    Object wanted = filter.get(field);
    if (wanted instanceof Document operators) {
      if (!operators.keySet().equals(Set.of("$in"))) return null;
      Collection<?> values = (Collection<?>) operators.get("$in");
      return values.stream().allMatch(OrderedIndex::isPlain) ? values : null;
    }
    return isPlain(wanted) ? Collections.singletonList(wanted) : null;
  }

  private static boolean isPlain(Object value) {
    return !(value instanceof Document || value instanceof Collection)
        && !BsonRegularExpression.isRegularExpression(value);
  }

  private static Document rangeOf(Document filter, String field) {
    if (!(filter.get(field) instanceof Document operators)) return null;
    boolean isRange = operators.keySet().stream().anyMatch(one -> LOWER.contains(one) || UPPER.contains(one));
    return isRange ? operators : null;
  }

  /** 1 or -1 when the entries stand in the order that is asked for, or in its reverse; else 0. */
  private int direction(Document orderBy, Document filter, int equal) {
    if (orderBy == null || orderBy.isEmpty()) return 0;
    int at = equal;
    int direction = 0;
    for (String field : orderBy.keySet()) {
      if (fields.subList(0, equal).contains(field) && !lists.contains(field)) continue;
      if (at >= fields.size() || !fields.get(at).equals(field) || lists.contains(field)) return 0;
      if (!(orderBy.get(field) instanceof Number number)) return 0;
      int own = number.intValue();
      if (direction != 0 && own != direction) return 0;
      direction = own;
      at++;
    }
    return direction;
  }

  final class Plan {
    private final List<List<Object>> prefixes;
    private final Document range;
    private final int equal;
    private final int direction;

    private Plan(List<List<Object>> prefixes, Document range, int equal, int direction) {
      this.prefixes = prefixes;
      this.range = range;
      this.equal = equal;
      this.direction = direction;
    }

    boolean isOrdered() {
      return direction != 0;
    }

    /** One document for each value beats all; then more fields held equal beat fewer, then a range, then an order. */
    int worth() {
      boolean isWhole = declared.isUnique() && equal == fields.size();
      return (isWhole ? WHOLE : 0) + equal * 4 + (range == null ? 0 : 2) + (direction == 0 ? 0 : 1);
    }

    Stream<Object> positions() {
      Stream<Entry> found = prefixes.stream().flatMap(prefix -> within(prefix).stream());
      Stream<Object> positions = found.map(entry -> entry.position);
      return lists.isEmpty() && prefixes.size() == 1 ? positions : positions.distinct();
    }

    private NavigableSet<Entry> within(List<Object> prefix) {
      Entry lower = new Entry(prefix, null, -1);
      Entry upper = new Entry(prefix, null, 1);
      if (range != null) {
        boolean isList = lists.contains(fields.get(equal));
        for (String operator : range.keySet()) {
          boolean isLower = LOWER.contains(operator);
          if (!isLower && !UPPER.contains(operator)) continue;
          Entry bound = new Entry(append(prefix, range.get(operator)), null, isLower ? -1 : 1);
          if (isLower) lower = bound;
          else if (!isList || lower.values.size() == prefix.size()) upper = bound;
        }
        if (isList && lower.values.size() > prefix.size()) upper = new Entry(prefix, null, 1);
      }
      if (compare(lower, upper) > 0) return new TreeSet<>(OrderedIndex::compare);
      NavigableSet<Entry> part = entries.subSet(lower, true, upper, true);
      return direction < 0 ? part.descendingSet() : part;
    }
  }

  /** An edge stands before or after all entries that begin with its values. */
  private record Entry(List<Object> values, Object position, int edge) {}

  private static int compare(Entry one, Entry other) {
    int length = Math.min(one.values.size(), other.values.size());
    for (int n = 0; n < length; n++) {
      int order = VALUES.compare(one.values.get(n), other.values.get(n));
      if (order != 0) return order;
    }
    if (one.edge != 0 || other.edge != 0) return Integer.compare(one.edge, other.edge);
    return VALUES.compare(one.position, other.position);
  }
}
