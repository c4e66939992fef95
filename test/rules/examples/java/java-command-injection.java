import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;

class ArchiveServlet extends HttpServlet {
  @Override
  protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
    String folder = request.getParameter("folder");
    // ruleid: java-command-injection
    Runtime.getRuntime().exec("tar -czf /srv/out.tgz " + folder);
  }

  @Override
  protected void doPut(HttpServletRequest request, HttpServletResponse response) throws IOException {
    int number = Integer.parseInt(request.getParameter("number"));
    // ok: java-command-injection
    new ProcessBuilder("tar", "-czf", "/srv/out.tgz", "/srv/reports/" + number).start();
  }
}

class LookupController {
  @GetMapping("/lookup")
  public String lookup(@RequestParam String host) throws IOException {
    // ruleid: java-command-injection
    Process process = new ProcessBuilder("sh", "-c", "dig +short " + host).start();
    return new String(process.getInputStream().readAllBytes());
  }
}
