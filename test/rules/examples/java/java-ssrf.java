import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.Map;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.client.RestTemplate;

class Preview {
  private static final Map<String, String> FEEDS = Map.of("news", "https://feeds.example.com/news.xml");
  private final RestTemplate client = new RestTemplate();

  InputStream preview(HttpServletRequest request) throws IOException {
    String url = request.getParameter("url");
    // ruleid: java-ssrf
    return new URL(url).openStream();
  }

  String fetch(@RequestParam("host") String host) {
    // ruleid: java-ssrf
    return client.getForObject("https://" + host + "/status", String.class);
  }

  String fetchFixed(@RequestParam("name") String name) {
    // ok: java-ssrf
    return client.getForObject("https://users.example.com/" + name, String.class);
  }

  InputStream feed() throws IOException {
    // ok: java-ssrf
    return new URL(FEEDS.get("news")).openStream();
  }
}
