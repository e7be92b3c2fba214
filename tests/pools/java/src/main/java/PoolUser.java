import com.alibaba.druid.pool.DruidDataSource;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.beans.Introspector;
import java.beans.PropertyEditorManager;
import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.util.Properties;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.apache.commons.dbcp2.BasicDataSourceFactory;

/** Uses a pool as tests/pools/check.py asks: `PoolUser LIBRARY PROPERTIES`. */
public final class PoolUser {
    private static final Queue<Connection> held = new ConcurrentLinkedQueue<>();
    private static final ExecutorService users = Executors.newCachedThreadPool();

    private static DataSource open(String library, String file) throws Exception {
        var properties = new Properties();
        try (var reader = new FileReader(file)) {
            properties.load(reader);
        }
        return switch (library) {
            case "hikaricp" -> new HikariDataSource(new HikariConfig(properties));
            case "dbcp2" -> BasicDataSourceFactory.createDataSource(properties);
            case "druid" -> druid(properties);
            default -> throw new IllegalArgumentException(library);
        };
    }

    /** By its setters, as Spring does. */
    private static DataSource druid(Properties properties) throws Exception {
        var pool = new DruidDataSource();
        for (var property : Introspector.getBeanInfo(DruidDataSource.class).getPropertyDescriptors()) {
            var text = (String) properties.remove(property.getName());
            if (text != null) {
                var editor = PropertyEditorManager.findEditor(property.getPropertyType());
                editor.setAsText(text);
                property.getWriteMethod().invoke(pool, editor.getValue());
            }
        }
        if (!properties.isEmpty()) {
            throw new IllegalArgumentException("unknown: " + properties.keySet());
        }
        pool.init();
        return pool;
    }

    private static void run(Connection connection, String sql) throws Exception {
        try (var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static void take(DataSource pool, int connections) throws Exception {
        Callable<Void> user = () -> {
            var connection = pool.getConnection();
            held.add(connection);
            run(connection, "SELECT 1");
            return null;
        };
        for (Future<Void> taken : users.invokeAll(IntStream.range(0, connections).mapToObj(n -> user).toList())) {
            try {
                taken.get();
            } catch (ExecutionException error) {
                throw (Exception) error.getCause();
            }
        }
    }

    private static void give() throws Exception {
        for (var connection = held.poll(); connection != null; connection = held.poll()) {
            connection.close();
        }
    }

    private static void obey(DataSource pool, String command, String argument) throws Exception {
        switch (command) {
            case "take" -> take(pool, Integer.parseInt(argument));
            case "give" -> give();
            case "run" -> {
                try (var connection = pool.getConnection()) {
                    run(connection, argument);
                }
            }
            default -> throw new IllegalArgumentException(command);
        }
    }

    public static void main(String[] arguments) throws Exception {
        var pool = open(arguments[0], arguments[1]);
        System.out.println("ok 0");
        var commands = new BufferedReader(new InputStreamReader(System.in));
        for (var line = commands.readLine(); line != null; line = commands.readLine()) {
            var words = (line + " ").split(" ", 2);
            var start = System.nanoTime();
            String error = null;
            try {
                obey(pool, words[0], words[1].strip());
            } catch (Exception failure) {
                error = failure.toString().replace('\n', ' ');
            }
            var milliseconds = (System.nanoTime() - start) / 1_000_000;
            System.out.println(error == null ? "ok " + milliseconds : "error " + milliseconds + " " + error);
        }
        System.exit(0);
    }
}
