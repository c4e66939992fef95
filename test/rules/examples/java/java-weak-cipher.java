import java.security.GeneralSecurityException;
import javax.crypto.Cipher;

class Sealing {
  Cipher legacy() throws GeneralSecurityException {
    // ruleid: java-weak-cipher
    return Cipher.getInstance("DES/CBC/PKCS5Padding");
  }

  Cipher byDefault() throws GeneralSecurityException {
    // ruleid: java-weak-cipher
    return Cipher.getInstance("AES");
  }

  Cipher fixed() throws GeneralSecurityException {
    // ok: java-weak-cipher
    return Cipher.getInstance("AES/GCM/NoPadding");
  }

  Cipher keyWrapping() throws GeneralSecurityException {
    // ok: java-weak-cipher
    return Cipher.getInstance("RSA/ECB/OAEPWithSHA-256AndMGF1Padding");
  }
}
