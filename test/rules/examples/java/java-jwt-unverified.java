import com.auth0.jwt.JWT;
import com.auth0.jwt.algorithms.Algorithm;
import io.jsonwebtoken.Jwts;
import java.security.interfaces.RSAPublicKey;

class Tokens {
  String subject(String token) {
    // ruleid: java-jwt-unverified
    return JWT.require(Algorithm.none()).build().verify(token).getSubject();
  }

  String subjectUnsigned(String token) {
    // ruleid: java-jwt-unverified
    return Jwts.parser().build().parseUnsecuredClaims(token).getPayload().getSubject();
  }

  String subjectFixed(String token, RSAPublicKey key) {
    // ok: java-jwt-unverified
    return JWT.require(Algorithm.RSA256(key, null)).build().verify(token).getSubject();
  }
}
