import org.springframework.web.cors.CorsConfiguration;

class Cors {
  CorsConfiguration open() {
    CorsConfiguration cors = new CorsConfiguration();
    cors.addAllowedOriginPattern("*");
    // ruleid: java-cors-any-origin
    cors.setAllowCredentials(true);
    return cors;
  }

  CorsConfiguration fixed() {
    CorsConfiguration cors = new CorsConfiguration();
    cors.addAllowedOrigin("https://app.example.com");
    // ok: java-cors-any-origin
    cors.setAllowCredentials(true);
    return cors;
  }

  CorsConfiguration withoutCredentials() {
    CorsConfiguration cors = new CorsConfiguration();
    // ok: java-cors-any-origin
    cors.addAllowedOrigin("*");
    return cors;
  }
}
