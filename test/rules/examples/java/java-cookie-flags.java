import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletResponse;

class SessionCookies {
  void add(HttpServletResponse response, String value) {
    Cookie cookie = new Cookie("session", value);
    cookie.setHttpOnly(true);
    // ruleid: java-cookie-flags
    response.addCookie(cookie);
  }

  void addFixed(HttpServletResponse response, String value) {
    Cookie cookie = new Cookie("session", value);
    cookie.setHttpOnly(true);
    cookie.setSecure(true);
    // ok: java-cookie-flags
    response.addCookie(cookie);
  }

  void addTheme(HttpServletResponse response) {
    Cookie cookie = new Cookie("theme", "dark");
    // ok: java-cookie-flags
    response.addCookie(cookie);
  }
}
