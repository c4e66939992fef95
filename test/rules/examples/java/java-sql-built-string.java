import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

class Users {
  private static final String TABLE = "users";

  ResultSet find(Connection connection, String name) throws SQLException {
    Statement statement = connection.createStatement();
    // ruleid: java-sql-built-string
    return statement.executeQuery("SELECT id, name FROM users WHERE name = '" + name + "'");
  }

  void delete(Statement statement, String name) throws SQLException {
    String sql = String.format("DELETE FROM users WHERE name = '%s'", name);
    // ruleid: java-sql-built-string
    statement.executeUpdate(sql);
  }

  ResultSet findFixed(Connection connection, String name) throws SQLException {
    // ok: java-sql-built-string
    PreparedStatement statement = connection.prepareStatement("SELECT id FROM " + TABLE + " WHERE name = ?");
    statement.setString(1, name);
    // ok: java-sql-built-string
    return statement.executeQuery();
  }
}
