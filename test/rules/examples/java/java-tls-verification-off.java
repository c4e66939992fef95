import java.io.FileInputStream;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

class Trusting implements X509TrustManager {
  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type) {}

  // ruleid: java-tls-verification-off
  public void checkServerTrusted(X509Certificate[] chain, String type) {}

  @Override
  public X509Certificate[] getAcceptedIssuers() {
    return new X509Certificate[0];
  }

  static void acceptAnyHost(HttpsURLConnection connection) {
    // ruleid: java-tls-verification-off
    connection.setHostnameVerifier((host, session) -> true);
  }

  static TrustManagerFactory fixed() throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(new FileInputStream("/etc/ssl/private-ca.p12"), null);
    // ok: java-tls-verification-off
    TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
    factory.init(store);
    return factory;
  }
}
