// Does what each line of standard input says, with the C# class, and prints one line: tests/bindings/test_bindings.py has the lines.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using RetvecLite;

public static class Driver
{
    private static RetvecClassifier classifier;

    public static void Main()
    {
        var input = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false));
        var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false));
        for (string line; (line = input.ReadLine()) != null;)
        {
            try { output.Write(string.Join("\t", Answer(line.Split('\t'))) + "\n"); }
            catch (RetvecError error) { output.Write("error\t" + error.Code + "\n"); }
        }
        output.Flush();
    }

    private static IEnumerable<string> Answer(string[] words)
    {
        var last = words.Last();
        switch (words[0])
        {
            case "open": classifier = RetvecClassifier.Open(last); break;
            case "close": classifier.Dispose(); break;
            case "labels": return classifier.Labels;
            case "metadata": return new[] { classifier.Metadata };
            case "predict": return Shown(classifier.Predict(last));
            case "many": return classifier.PredictMany(words.Skip(1)).SelectMany(Shown);
            case "all": return classifier.PredictAll(last).SelectMany(Shown);
            case "probabilities": return classifier.Probabilities(last).Select(Number);
            case "embed": return classifier.Embed(last).Select(Number);
            case "explain":
                return classifier.Explain(last, words[1] == "" ? null : words[1]).SelectMany(span => new[] {
                    last.Substring(span.Start, span.End - span.Start), span.Start.ToString(), span.Weight.ToString("R", CultureInfo.InvariantCulture) });
            case "teach": classifier.Teach(last, words[1]); break;
            case "forget": classifier.Forget(last); break;
            case "texts": return classifier.Memory.Texts.SelectMany(one => new[] { one.Key, one.Value });
            case "threads": // ask from many threads at once
                var right = classifier.Predict(last).Probability;
                var same = new bool[8];
                var threads = same.Select((_, place) => new Thread(() =>
                    same[place] = Enumerable.Range(0, 200).All(turn => classifier.Predict(last).Probability == right))).ToList();
                threads.ForEach(thread => thread.Start());
                threads.ForEach(thread => thread.Join());
                return new[] { string.Join(" ", same) };
            case "clear": classifier.Memory.Clear(); break;
            case "save": File.WriteAllBytes(last, classifier.Memory.Save()); break;
            case "load": classifier.Memory.Load(File.ReadAllBytes(last)); break;
        }
        return new string[0];
    }

    private static string[] Shown(Prediction one) => new[] { one.Label ?? "", Number(one.Probability), one.Taught ?? "" };

    private static string Number(float number) => number.ToString("R", CultureInfo.InvariantCulture);
}
