import java.security.SecureRandom;
import java.util.Random;

class Sessions {
  String newToken() {
    // ruleid: java-insecure-random
    return Long.toHexString(new Random().nextLong());
  }

  void invite(String mail) {
    // ruleid: java-insecure-random
    int inviteCode = (int) (Math.random() * 1_000_000);
    send(mail, inviteCode);
  }

  String newTokenFixed() {
    byte[] bytes = new byte[32];
    // ok: java-insecure-random
    new SecureRandom().nextBytes(bytes);
    return java.util.HexFormat.of().formatHex(bytes);
  }

  long backoff(int attempt) {
    // ok: java-insecure-random
    return new Random().nextInt(1 << attempt);
  }
}
