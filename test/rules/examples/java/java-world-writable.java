import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

class Publishing {
  void publish(File file) throws IOException {
    // ruleid: java-world-writable
    file.setWritable(true, false);
    // ruleid: java-world-writable
    Files.setPosixFilePermissions(file.toPath(), PosixFilePermissions.fromString("rwxrwxrwx"));
  }

  void publishFixed(Path path) throws IOException {
    // ok: java-world-writable
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxr-x---"));
  }
}
