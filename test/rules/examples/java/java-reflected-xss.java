import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.PrintWriter;
import org.owasp.encoder.Encode;

class Search {
  void results(HttpServletRequest request, HttpServletResponse response) throws IOException {
    // ruleid: java-reflected-xss
    response.getWriter().println("<h1>Results for " + request.getParameter("q") + "</h1>");
  }

  void missing(HttpServletRequest request, HttpServletResponse response) throws IOException {
    String name = request.getParameter("name");
    PrintWriter writer = response.getWriter();
    // ruleid: java-reflected-xss
    writer.print("<p>No such page: " + name + "</p>");
  }

  void resultsFixed(HttpServletRequest request, HttpServletResponse response) throws IOException {
    // ok: java-reflected-xss
    response.getWriter().println("<h1>Results for " + Encode.forHtml(request.getParameter("q")) + "</h1>");
  }
}
