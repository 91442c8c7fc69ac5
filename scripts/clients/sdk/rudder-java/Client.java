import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.rudderstack.sdk.java.analytics.RudderAnalytics;
import com.rudderstack.sdk.java.analytics.Callback;
import com.rudderstack.sdk.java.analytics.messages.AliasMessage;
import com.rudderstack.sdk.java.analytics.messages.GroupMessage;
import com.rudderstack.sdk.java.analytics.messages.IdentifyMessage;
import com.rudderstack.sdk.java.analytics.messages.Message;
import com.rudderstack.sdk.java.analytics.messages.MessageBuilder;
import com.rudderstack.sdk.java.analytics.messages.PageMessage;
import com.rudderstack.sdk.java.analytics.messages.ScreenMessage;
import com.rudderstack.sdk.java.analytics.messages.TrackMessage;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

public class Client {
  private static final Gson JSON = new Gson();

  private static String text(JsonObject call, String name) {
    return call.has(name) ? call.get(name).getAsString() : null;
  }

  private static Map<String, ?> map(JsonObject call, String name) {
    Map<String, ?> found = JSON.fromJson(call.get(name), Map.class);
    return found == null ? Map.of() : found;
  }

  private static MessageBuilder<?, ?> builder(JsonObject call) {
    switch (text(call, "type")) {
      case "track":
        return TrackMessage.builder(text(call, "event")).properties(map(call, "properties"));
      case "page":
        return PageMessage.builder(text(call, "name")).properties(map(call, "properties"));
      case "screen":
        return ScreenMessage.builder(text(call, "name")).properties(map(call, "properties"));
      case "identify":
        return IdentifyMessage.builder().traits(map(call, "traits"));
      case "group":
        return GroupMessage.builder(text(call, "groupId")).traits(map(call, "traits"));
      case "alias":
        return AliasMessage.builder(text(call, "previousId"));
      default:
        throw new IllegalArgumentException(text(call, "type"));
    }
  }

  private static MessageBuilder<?, ?> message(JsonObject call) {
    MessageBuilder<?, ?> builder = builder(call);
    if (call.has("userId")) builder.userId(text(call, "userId"));
    if (call.has("anonymousId")) builder.anonymousId(text(call, "anonymousId"));
    if (call.has("messageId")) builder.messageId(text(call, "messageId"));
    return builder;
  }

  public static void main(String[] args) throws Exception {
    JsonObject start = JSON.fromJson(args[0], JsonObject.class);
    AtomicInteger delivered = new AtomicInteger();
    List<String> gaveUp = new CopyOnWriteArrayList<>();
    Callback callback =
        new Callback() {
          @Override
          public void success(Message message) {
            delivered.incrementAndGet();
          }

          @Override
          public void failure(Message message, Throwable error) {
            gaveUp.add(message.messageId());
          }
        };
    RudderAnalytics analytics =
        RudderAnalytics.builder(text(start, "key"))
            .setDataPlaneUrl(text(start, "url"))
            .flushInterval(1, TimeUnit.SECONDS)
            .callback(callback)
            .build();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    int calls = 0;
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      analytics.enqueue(message(JSON.fromJson(line, JsonObject.class)));
      calls++;
    }
    analytics.flush();
    // A shutdown leaves what waits for its next try.
    while (delivered.get() + gaveUp.size() < calls) Thread.sleep(20);
    System.out.println(JSON.toJson(Map.of("delivered", delivered.get(), "gaveUp", gaveUp)));
    System.exit(0);
  }
}
