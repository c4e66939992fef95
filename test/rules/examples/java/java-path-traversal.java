import jakarta.servlet.http.HttpServletRequest;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

class Reports {
  private static final Path FOLDER = Path.of("/srv/reports");

  InputStream open(HttpServletRequest request) throws IOException {
    // ruleid: java-path-traversal
    return new FileInputStream("/srv/reports/" + request.getParameter("name"));
  }

  byte[] read(HttpServletRequest request) throws IOException {
    Path path = FOLDER.resolve(request.getParameter("name"));
    // ruleid: java-path-traversal
    return Files.readAllBytes(path);
  }

  byte[] readFixed(HttpServletRequest request) throws IOException {
    Path path = FOLDER.resolve(request.getParameter("name")).normalize();
    if (!path.startsWith(FOLDER)) {
      throw new IOException("no such report");
    }
    // ok: java-path-traversal
    return Files.readAllBytes(path);
  }
}
