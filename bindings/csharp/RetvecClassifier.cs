// Classifies texts with a .retvec file, over the shared library of the engine.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using System.Text;
using Size = System.UIntPtr;

namespace RetvecLite
{
    /// <summary>The type of every error of the engine. Code is a name of retvec_lite.h, such as "RVL_CHANGED"; or
    /// "CANNOT_LOAD" for a file that cannot be read, "WRONG_CALL", or "CLOSED".</summary>
    public sealed class RetvecError : Exception
    {
        public string Code { get; }

        public RetvecError(string code, string message, Exception cause = null) : base(message, cause) { Code = code; }
    }

    /// <summary>The answer to a text: its label, null for none of them, and the probability of the most probable one. Taught is the taught
    /// text by which the memory answered.</summary>
    public sealed class Prediction
    {
        public string Label { get; internal set; }
        public float Probability { get; internal set; }
        public string Taught { get; internal set; }
    }

    /// <summary>A part of a text, from Start up to End as Substring counts; by Weight, the natural logarithm of the label's probability
    /// falls without it.</summary>
    public sealed class Span
    {
        public int Start { get; internal set; }
        public int End { get; internal set; }
        public double Weight { get; internal set; }
    }

    /// <summary>Answers texts. Threads may share one: calls wait for each other. Dispose frees its memory.</summary>
    public sealed class RetvecClassifier : IDisposable
    {
        private const uint Words = 384; // whose vectors are kept: 300 kB
        private const int NoMemory = 9, Full = 12; // RVL_NO_MEMORY and RVL_FULL

        private readonly object turn = new object();
        private readonly string[] labels;
        private IntPtr engine, file, block, taught;
        private ulong taughtSize;
        private uint room;

        /// <summary>Read a file and start an engine.</summary>
        public static RetvecClassifier Open(string path)
        {
            try { return new RetvecClassifier(File.ReadAllBytes(path)); }
            catch (Exception cause) when (cause is IOException || cause is UnauthorizedAccessException)
            {
                throw new RetvecError("CANNOT_LOAD", cause.Message, cause);
            }
        }

        /// <summary>Start an engine for the bytes of a file, which are copied.</summary>
        public RetvecClassifier(byte[] bytes)
        {
            file = Marshal.AllocHGlobal(bytes.Length + 1);
            Marshal.Copy(bytes, 0, file, bytes.Length);
            var problem = rvl_block_size(file, (Size)bytes.Length, Words, out var needed);
            if (problem == 0)
            {
                block = Marshal.AllocHGlobal((IntPtr)(long)needed);
                problem = rvl_open(file, (Size)bytes.Length, Words, block, needed, out engine);
            }
            if (problem != 0) Dispose();
            Check(problem);
            labels = Enumerable.Range(0, (int)rvl_labels(engine)).Select(label => Read(rvl_label(engine, (uint)label))).ToArray();
        }

        ~RetvecClassifier() { Dispose(); }

        /// <summary>Free the memory; calls fail from then on.</summary>
        public void Dispose()
        {
            lock (turn)
            {
                foreach (var one in new[] { file, block, taught }) Marshal.FreeHGlobal(one);
                engine = file = block = taught = IntPtr.Zero;
            }
            GC.SuppressFinalize(this);
        }

        /// <summary>The labels, in the order of the probabilities.</summary>
        public IReadOnlyList<string> Labels => labels;

        /// <summary>What the file says of itself, JSON.</summary>
        public string Metadata => Locked(opened =>
        {
            var start = rvl_metadata(opened, out var size);
            return Read(start, (int)size);
        });

        /// <summary>The label of a text; of several, the most probable one.</summary>
        public Prediction Predict(string text) =>
            Answers(text, 1).FirstOrDefault() ?? new Prediction { Probability = Probabilities(text).Max() };

        /// <summary>The answers to texts, in their order.</summary>
        public IEnumerable<Prediction> PredictMany(IEnumerable<string> texts) => texts.Select(Predict);

        /// <summary>The labels of a text, most probable first: one or none, or any number where the file gives several.</summary>
        public IReadOnlyList<Prediction> PredictAll(string text) =>
            Answers(text, Locked(rvl_several_labels) == 0 ? 1 : labels.Length).Where(one => one.Label != null).ToList();

        private List<Prediction> Answers(string text, int most) => Locked(opened =>
        {
            var bytes = Encoding.UTF8.GetBytes(text);
            var found = new Answer[most];
            var written = (int)rvl_classify_utf8(opened, bytes, (Size)bytes.Length, found, (Size)most);
            var speaker = rvl_speaker(opened);
            return found.Take(written).Select((answer, place) => new Prediction
            {
                Label = answer.Label < 0 ? null : Read(rvl_label(opened, (uint)answer.Label)),
                Probability = answer.Probability,
                Taught = place == 0 && speaker >= 0 ? Lesson(opened, (uint)speaker).Key : null,
            }).ToList();
        });

        /// <summary>The probability of each label.</summary>
        public float[] Probabilities(string text) => Vector(text, labels.Length, rvl_probabilities_utf8);

        /// <summary>A vector of length 1, for search by dot product: zeros for a text without words. Files that read n-grams alone have
        /// none.</summary>
        public float[] Embed(string text)
        {
            var size = (int)Locked(rvl_dimension);
            if (size == 0) throw new RetvecError("WRONG_CALL", "This file has no embeddings: it reads n-grams alone.");
            return Vector(text, size, rvl_embed_utf8);
        }

        private float[] Vector(string text, int size, Action<IntPtr, byte[], Size, float[]> fill) => Locked(opened =>
        {
            var bytes = Encoding.UTF8.GetBytes(text);
            var found = new float[size];
            fill(opened, bytes, (Size)bytes.Length, found);
            return found;
        });

        /// <summary>Which words of a text speak for a label, which must be a known one; null is the most probable one.</summary>
        public IReadOnlyList<Span> Explain(string text, string label = null) => Locked(opened =>
        {
            var number = Array.IndexOf(labels, label);
            if (number < 0 && label != null) throw new RetvecError("WRONG_CALL", $"\"{label}\" is not a label of this classifier.");
            var bytes = Encoding.UTF8.GetBytes(text);
            var units = new int[bytes.Length + 1]; // where each byte's character begins in the string
            for (int unit = 0, place = 0; unit < text.Length; units[place] = unit)
            {
                var length = unit + 1 < text.Length && char.IsSurrogatePair(text, unit) ? 2 : 1;
                var end = place + (length == 2 ? 4 : Encoding.UTF8.GetByteCount(text.Substring(unit, 1)));
                while (place < end) units[place++] = unit;
                unit += length;
            }
            var found = new Part[Math.Min(bytes.Length, (int)rvl_read_limit(opened))];
            var written = (int)rvl_explain_utf8(opened, bytes, (Size)bytes.Length, number, found, (Size)found.Length);
            return found.Take(written).Select(part => new Span { Start = units[part.Start], End = units[part.End], Weight = part.Weight }).ToList();
        });

        /// <summary>Say that a text has a label, old or new: it, and texts like it, are answered with that label, and all others as
        /// before.</summary>
        public void Teach(string text, string label)
        {
            var name = Encoding.UTF8.GetBytes((label.Contains('\0') ? "" : label) + '\0'); // C would read a part of one with a zero
            Change(text, (opened, bytes, size) => rvl_teach_utf8(opened, bytes, size, name));
        }

        /// <summary>Undo the teaching of a text.</summary>
        public void Forget(string text) => Change(text, rvl_forget_utf8);

        private void Change(string text, Func<IntPtr, byte[], Size, int> change)
        {
            var bytes = Encoding.UTF8.GetBytes(text);
            Change(opened => change(opened, bytes, (Size)bytes.Length));
        }

        /// <summary>What was taught. It holds the texts themselves: a saved memory is as private as they are.</summary>
        public RetvecMemory Memory => new RetvecMemory(this);

        public sealed class RetvecMemory
        {
            private readonly RetvecClassifier of;

            internal RetvecMemory(RetvecClassifier classifier) { of = classifier; }

            /// <summary>The taught texts, as they are kept, and their labels, in the order of teaching.</summary>
            public IReadOnlyList<KeyValuePair<string, string>> Texts =>
                of.Locked(opened => Enumerable.Range(0, (int)rvl_taught(opened)).Select(number => Lesson(opened, (uint)number)).ToList());

            /// <summary>The bytes of a file that every package of retvec-lite reads; none where nothing was taught.</summary>
            public byte[] Save() => of.Locked(RetvecClassifier.Save);

            /// <summary>Take the bytes of such a file, in place of what was taught; fails, and changes nothing, where they are none.</summary>
            public void Load(byte[] file) => of.Change(opened => rvl_memory_load(opened, file, (Size)file.Length));

            /// <summary>Forget all texts.</summary>
            public void Clear() => of.Locked(opened => rvl_memory_open(opened, of.taught, (Size)of.taughtSize));
        }

        /// <summary>Change the memory; where that has no room, a larger one, as long as there is.</summary>
        private void Change(Func<IntPtr, int> change) => Check(Locked(opened =>
        {
            var problem = change(opened);
            while (problem == NoMemory || problem == Full)
            {
                var larger = Math.Max(2 * room, 64); // texts, on average
                var size = rvl_memory_size(opened, larger);
                if (taught != IntPtr.Zero && (ulong)size <= taughtSize) break;
                var saved = Save(opened);
                var start = Marshal.AllocHGlobal((IntPtr)((long)size + 1));
                problem = rvl_memory_open(opened, start, size);
                if (problem != 0)
                {
                    Marshal.FreeHGlobal(start);
                    break;
                }
                rvl_memory_load(opened, saved, (Size)saved.Length);
                Marshal.FreeHGlobal(taught);
                taught = start;
                taughtSize = (ulong)size;
                room = larger;
                problem = change(opened);
            }
            return problem;
        }));

        private static byte[] Save(IntPtr opened)
        {
            var saved = new byte[(int)rvl_memory_save(opened, null, Size.Zero)];
            rvl_memory_save(opened, saved, (Size)saved.Length);
            return saved;
        }

        private T Locked<T>(Func<IntPtr, T> body)
        {
            lock (turn) return body(engine != IntPtr.Zero ? engine : throw new RetvecError("CLOSED", "The classifier is disposed."));
        }

        private static void Check(int problem)
        {
            if (problem != 0) throw new RetvecError(Read(rvl_code(problem)), Read(rvl_message(problem)));
        }

        private static KeyValuePair<string, string> Lesson(IntPtr opened, uint number)
        {
            var text = Read(rvl_taught_text(opened, number, out var label));
            return new KeyValuePair<string, string>(text, Read(label));
        }

        private static string Read(IntPtr start, int size = -1)
        {
            if (size < 0) for (size = 0; Marshal.ReadByte(start, size) != 0;) size++;
            var bytes = new byte[size];
            if (size > 0) Marshal.Copy(start, bytes, 0, size);
            return Encoding.UTF8.GetString(bytes);
        }

        [StructLayout(LayoutKind.Sequential)]
        private struct Answer { public int Label; public float Probability; }

        [StructLayout(LayoutKind.Sequential)]
        private struct Part { public int Start, End; public double Weight; }

        private const string Library = "retvec_lite";
        [DllImport(Library)] private static extern IntPtr rvl_message(int problem);
        [DllImport(Library)] private static extern IntPtr rvl_code(int problem);
        [DllImport(Library)] private static extern int rvl_block_size(IntPtr file, Size size, uint words, out Size bytes);
        [DllImport(Library)] private static extern int rvl_open(IntPtr file, Size size, uint words, IntPtr block, Size bytes, out IntPtr engine);
        [DllImport(Library)] private static extern uint rvl_labels(IntPtr engine);
        [DllImport(Library)] private static extern IntPtr rvl_label(IntPtr engine, uint label);
        [DllImport(Library)] private static extern int rvl_several_labels(IntPtr engine);
        [DllImport(Library)] private static extern IntPtr rvl_metadata(IntPtr engine, out Size bytes);
        [DllImport(Library)] private static extern uint rvl_read_limit(IntPtr engine);
        [DllImport(Library)] private static extern uint rvl_dimension(IntPtr engine);
        [DllImport(Library)] private static extern void rvl_probabilities_utf8(IntPtr engine, byte[] text, Size bytes, [Out] float[] probabilities);
        [DllImport(Library)] private static extern Size rvl_classify_utf8(IntPtr engine, byte[] text, Size bytes, [Out] Answer[] answers, Size most);
        [DllImport(Library)] private static extern Size rvl_explain_utf8(IntPtr engine, byte[] text, Size bytes, int label, [Out] Part[] spans, Size most);
        [DllImport(Library)] private static extern void rvl_embed_utf8(IntPtr engine, byte[] text, Size bytes, [Out] float[] embedding);
        [DllImport(Library)] private static extern Size rvl_memory_size(IntPtr engine, uint texts);
        [DllImport(Library)] private static extern int rvl_memory_open(IntPtr engine, IntPtr block, Size bytes);
        [DllImport(Library)] private static extern int rvl_teach_utf8(IntPtr engine, byte[] text, Size bytes, byte[] label);
        [DllImport(Library)] private static extern int rvl_forget_utf8(IntPtr engine, byte[] text, Size bytes);
        [DllImport(Library)] private static extern uint rvl_taught(IntPtr engine);
        [DllImport(Library)] private static extern IntPtr rvl_taught_text(IntPtr engine, uint number, out IntPtr label);
        [DllImport(Library)] private static extern int rvl_speaker(IntPtr engine);
        [DllImport(Library)] private static extern Size rvl_memory_save(IntPtr engine, [Out] byte[] file, Size most);
        [DllImport(Library)] private static extern int rvl_memory_load(IntPtr engine, byte[] data, Size size);
    }
}
