import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;

/** Rows over java.net.http: see README.md. */
public class Client {
    static final HttpClient CLIENT = HttpClient.newHttpClient();

    public static void main(String[] args) throws Exception {
        var first = Integer.parseInt(args[1]);
        var threads = new ArrayList<Thread>();
        for (int n = first; n < first + 4; n++) {
            var client = n;
            threads.add(new Thread(() -> send(URI.create(args[0]), client, Path.of(args[2]))));
        }
        threads.forEach(Thread::start);
        for (var thread : threads) thread.join();
    }

    static void send(URI url, int client, Path stop) {
        int rows = 0;
        while (!Files.exists(stop)) {
            var row = String.format("{\"client\":%d,\"seq\":%d,\"text\":\"%d-%d\"}", client, rows, client, rows);
            var request = HttpRequest.newBuilder(url).timeout(Duration.ofSeconds(30))
                .header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(row)).build();
            long waitMs = waitAfter(request);
            while (waitMs > 0) {
                pause(waitMs);
                waitMs = waitAfter(request);
            }
            rows++;
        }
        System.out.println(client + " " + rows);
    }

    /** 0: the row is stored. */
    static long waitAfter(HttpRequest request) {
        try {
            var answer = CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
            switch (answer.statusCode()) {
                case 200: return 0;
                case 429, 503: return answer.headers().firstValueAsLong("Retry-After").orElse(1) * 1000;
                default:
                    System.err.println(answer.statusCode() + " " + answer.body());
                    System.exit(1);
            }
        } catch (IOException | InterruptedException broken) {
            // It may be stored: the same row again.
        }
        return 100;
    }

    static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException early) {
            // The row is sent earlier.
        }
    }
}
