import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;

class Database {
  // ruleid: java-hardcoded-credential
  private static final String DB_PASSWORD = "aaaa1111";

  // ok: java-hardcoded-credential
  private static final String PASSWORD_PROPERTY = "db.password.v1";

  Connection connect() throws SQLException {
    // ruleid: java-hardcoded-credential
    return DriverManager.getConnection("jdbc:postgresql://db/app", "app", "bbbb2222");
  }

  Connection connectFixed() throws SQLException {
    // ok: java-hardcoded-credential
    return DriverManager.getConnection("jdbc:postgresql://db/app", "app", System.getenv("DB_PASSWORD"));
  }
}
