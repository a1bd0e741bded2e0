import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Writes the class R, which Gradle and aapt2 write otherwise, so that the compiler can check resource names. Arguments: the
 * package, the folder res, the file to write, and the output of `aapt2 link --output-text-symbols` for real resource numbers
 * (`none`: all numbers are 0).
 */
public final class ResourceIds {
    private static final Pattern ID = Pattern.compile("@\\+id/(\\w+)");
    private static final Pattern VALUE = Pattern.compile("<(string|color|style|dimen|integer|bool)\\s+name=\"(\\w+)\"");

    public static void main(String[] arguments) throws IOException {
        Map<String, TreeSet<String>> names = new TreeMap<>();
        List<Path> files;
        try (Stream<Path> all = Files.walk(Path.of(arguments[1]))) {
            files = all.filter(Files::isRegularFile).toList();
        }
        for (Path file : files) {
            String kind = file.getParent().getFileName().toString().replaceFirst("-.*", "");
            String text = Files.readString(file);
            if (kind.equals("values")) {
                for (Matcher found = VALUE.matcher(text); found.find(); ) {
                    names.computeIfAbsent(found.group(1), key -> new TreeSet<>()).add(found.group(2));
                }
                continue;
            }
            names.computeIfAbsent(kind, key -> new TreeSet<>()).add(file.getFileName().toString().replaceFirst("\\..*", ""));
            for (Matcher found = ID.matcher(text); found.find(); ) {
                names.computeIfAbsent("id", key -> new TreeSet<>()).add(found.group(1));
            }
        }
        Map<String, String> numbers = new TreeMap<>();
        if (!arguments[3].equals("none")) {
            for (String line : Files.readAllLines(Path.of(arguments[3]))) {
                String[] words = line.split(" ");
                numbers.put(words[1] + "/" + words[2], words[3]);
            }
        }
        StringBuilder source = new StringBuilder("package " + arguments[0] + "\n\nobject R {\n");
        for (Map.Entry<String, TreeSet<String>> kind : names.entrySet()) {
            source.append("    object ").append(kind.getKey()).append(" {\n");
            for (String name : kind.getValue()) {
                String number = numbers.getOrDefault(kind.getKey() + "/" + name, "0");
                source.append("        const val ").append(name).append(" = ").append(number).append("\n");
            }
            source.append("    }\n");
        }
        Path target = Path.of(arguments[2]);
        Files.createDirectories(target.getParent());
        Files.writeString(target, source.append("}\n"));
    }
}
