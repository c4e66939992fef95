import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

class Spool {
  File create() throws IOException {
    // ruleid: java-insecure-temp-file
    return File.createTempFile("job", ".spool");
  }

  Path createFixed() throws IOException {
    // ok: java-insecure-temp-file
    return Files.createTempFile("job", ".spool");
  }
}
