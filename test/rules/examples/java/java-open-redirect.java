import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.web.bind.annotation.RequestParam;

class Login {
  void leave(HttpServletRequest request, HttpServletResponse response) throws IOException {
    // ruleid: java-open-redirect
    response.sendRedirect(request.getParameter("next"));
  }

  String forward(@RequestParam String next) {
    // ruleid: java-open-redirect
    return "redirect:" + next;
  }

  void leaveFixed(HttpServletRequest request, HttpServletResponse response) throws IOException {
    // ok: java-open-redirect
    response.sendRedirect("/welcome?tab=" + request.getParameter("tab"));
  }
}
