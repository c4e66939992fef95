import java.security.GeneralSecurityException;
import java.security.MessageDigest;

class Manifest {
  byte[] sign(byte[] manifest) throws GeneralSecurityException {
    // ruleid: java-weak-hash
    return MessageDigest.getInstance("MD5").digest(manifest);
  }

  byte[] signFixed(byte[] manifest) throws GeneralSecurityException {
    // ok: java-weak-hash
    return MessageDigest.getInstance("SHA-256").digest(manifest);
  }

  byte[] etag(byte[] page) throws GeneralSecurityException {
    // ok: java-weak-hash
    return MessageDigest.getInstance("MD5").digest(page);
  }
}
