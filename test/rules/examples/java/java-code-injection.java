import jakarta.servlet.http.HttpServletRequest;
import javax.script.ScriptEngine;
import javax.script.ScriptException;
import org.springframework.expression.spel.standard.SpelExpressionParser;

class Calculator {
  private final ScriptEngine engine;

  Calculator(ScriptEngine engine) {
    this.engine = engine;
  }

  Object total(HttpServletRequest request) throws ScriptException {
    String formula = request.getParameter("formula");
    // ruleid: java-code-injection
    return engine.eval(formula);
  }

  Object filter(HttpServletRequest request) {
    // ruleid: java-code-injection
    return new SpelExpressionParser().parseExpression(request.getParameter("filter")).getValue();
  }

  Object totalFixed(HttpServletRequest request) throws ScriptException {
    engine.put("amount", Integer.parseInt(request.getParameter("amount")));
    // ok: java-code-injection
    return engine.eval("amount * 1.19");
  }
}
