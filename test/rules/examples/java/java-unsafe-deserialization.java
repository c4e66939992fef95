import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputFilter;
import java.io.ObjectInputStream;

class Jobs {
  Object read(InputStream input) throws IOException, ClassNotFoundException {
    ObjectInputStream stream = new ObjectInputStream(input);
    // ruleid: java-unsafe-deserialization
    return stream.readObject();
  }

  Job readFixed(InputStream input) throws IOException {
    // ok: java-unsafe-deserialization
    return new ObjectMapper().readValue(input, Job.class);
  }

  Object readFiltered(InputStream input) throws IOException, ClassNotFoundException {
    ObjectInputStream stream = new ObjectInputStream(input);
    stream.setObjectInputFilter(ObjectInputFilter.Config.createFilter("app.Job;!*"));
    // ok: java-unsafe-deserialization
    return stream.readObject();
  }
}
