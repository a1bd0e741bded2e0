/// Classifies texts with a `.retvec` file: raw text in, label out.
///
///     final classifier = RetvecClassifier.open('classifier-int8.retvec');
///     print(classifier.predict('my pakcage never arived').label ?? 'none of these');
@DefaultAsset('package:retvec_lite/retvec_lite.dart')
library;

import 'dart:convert';
import 'dart:ffi';
import 'dart:io';
import 'dart:math';
import 'dart:typed_data';

import 'package:ffi/ffi.dart';

/// The type of every error. [code] is a name of retvec_lite.h, such as "RVL_CHANGED"; or "CANNOT_LOAD" for a file that cannot be
/// read, "WRONG_CALL", or "CLOSED".
class RetvecError implements Exception {
  final String code, message;
  const RetvecError(this.code, this.message);

  @override
  String toString() => message;
}

/// The answer to a text: its label, null for none of them, and the probability of the most probable one. [taught] is the taught text by which
/// the memory answered.
class Prediction {
  final String? label, taught;
  final double probability;
  const Prediction(this.label, this.probability, [this.taught]);
}

/// A part of a text, from [start] up to [end] as `substring` counts; by [weight], the natural logarithm of the label's probability falls
/// without it.
class Span {
  final int start, end;
  final double weight;
  const Span(this.start, this.end, this.weight);
}

/// Answers texts, in the isolate that opened it. [close] frees its memory.
class RetvecClassifier {
  final Pointer<Void> _file, _block;
  Pointer<Void> _opened, _taught = nullptr;
  int _taughtSize = 0, _room = 0;

  /// The labels, in the order of the probabilities.
  final List<String> labels;

  RetvecClassifier._(this._opened, this._file, this._block)
    : labels = List.generate(rvl_labels(_opened), (label) => rvl_label(_opened, label).toDartString(), growable: false);

  /// Reads a file and starts an engine.
  factory RetvecClassifier.open(String path) {
    try {
      return RetvecClassifier.load(File(path).readAsBytesSync());
    } on FileSystemException catch (cause) {
      throw RetvecError('CANNOT_LOAD', cause.toString());
    }
  }

  /// Starts an engine for the bytes of a file, which are copied: those of an asset, for example.
  factory RetvecClassifier.load(Uint8List bytes) => using((arena) {
    final file = malloc<Uint8>(bytes.length + 1)..asTypedList(bytes.length).setAll(0, bytes);
    final size = arena<Size>();
    final engine = arena<Pointer<Void>>();
    var block = nullptr.cast<Uint8>();
    var problem = rvl_block_size(file.cast(), bytes.length, _words, size);
    if (problem == 0) {
      block = malloc<Uint8>(size.value);
      problem = rvl_open(file.cast(), bytes.length, _words, block.cast(), size.value, engine);
    }
    if (problem != 0) {
      malloc.free(file);
      if (block != nullptr) malloc.free(block);
      _check(problem);
    }
    return RetvecClassifier._(engine.value, file.cast(), block.cast());
  });

  /// Frees the memory; calls fail from then on.
  void close() {
    if (_opened == nullptr) return;
    for (final one in [_file, _block, if (_taught != nullptr) _taught]) {
      malloc.free(one);
    }
    _opened = nullptr;
  }

  Pointer<Void> get _engine => _opened != nullptr ? _opened : throw const RetvecError('CLOSED', 'The classifier is closed.');

  /// What the file says of itself, JSON.
  String get metadata => using((arena) {
    final size = arena<Size>();
    final start = rvl_metadata(_engine, size);
    return start == nullptr ? '' : start.toDartString(length: size.value);
  });

  /// The label of a text; of several, the most probable one.
  Prediction predict(String text) => _answers(text, 1).firstOrNull ?? Prediction(null, probabilities(text).reduce(max));

  /// The answers to texts, in their order.
  Iterable<Prediction> predictMany(Iterable<String> texts) => texts.map(predict);

  /// The labels of a text, most probable first: one or none, or any number where the file gives several.
  List<Prediction> predictAll(String text) =>
      _answers(text, rvl_several_labels(_engine) == 0 ? 1 : labels.length).where((one) => one.label != null).toList();

  List<Prediction> _answers(String text, int most) => _read(text, (arena, bytes, size) {
    final found = arena<Answer>(most);
    final written = rvl_classify_utf8(_engine, bytes, size, found, most);
    final speaker = rvl_speaker(_engine);
    return List.generate(written, (place) {
      final Answer(:label, :probability) = found[place];
      final taught = place == 0 && speaker >= 0 ? _lesson(speaker).$1 : null;
      return Prediction(label < 0 ? null : rvl_label(_engine, label).toDartString(), probability, taught);
    });
  });

  /// The probability of each label.
  Float32List probabilities(String text) => _vector(text, labels.length, rvl_probabilities_utf8);

  /// A vector of length 1, for search by dot product: zeros for a text without words. Files that read n-grams alone have none.
  Float32List embed(String text) {
    final size = rvl_dimension(_engine);
    if (size == 0) throw const RetvecError('WRONG_CALL', 'This file has no embeddings: it reads n-grams alone.');
    return _vector(text, size, rvl_embed_utf8);
  }

  Float32List _vector(String text, int count, void Function(Pointer<Void>, Pointer<Uint8>, int, Pointer<Float>) fill) =>
      _read(text, (arena, bytes, size) {
        final found = arena<Float>(count);
        fill(_engine, bytes, size, found);
        return Float32List.fromList(found.asTypedList(count));
      });

  /// Which words of a text speak for a label, which must be a known one; by default the most probable one.
  List<Span> explain(String text, [String? label]) => _read(text, (arena, bytes, size) {
    final number = label == null ? -1 : labels.indexOf(label);
    if (label != null && number < 0) throw RetvecError('WRONG_CALL', '"$label" is not a label of this classifier.');
    final units = <int>[]; // where each byte's character begins in the string
    for (var rest = text.runes.iterator; rest.moveNext();) {
      units.addAll(List.filled(utf8.encode(rest.currentAsString).length, rest.rawIndex));
    }
    units.add(text.length);
    final most = min(size, rvl_read_limit(_engine));
    final found = arena<Part>(most + 1);
    final written = rvl_explain_utf8(_engine, bytes, size, number, found, most);
    return List.generate(written, (place) => Span(units[found[place].start], units[found[place].end], found[place].weight));
  });

  /// Says that a text has a label, old or new: it, and texts like it, are answered with that label, and all others as before.
  void teach(String text, String label) => _read(text, (arena, bytes, size) {
    final name = (label.contains('\x00') ? '' : label).toNativeUtf8(allocator: arena); // C would read a part of one with a zero
    _change((engine) => rvl_teach_utf8(engine, bytes, size, name));
  });

  /// Undoes the teaching of a text.
  void forget(String text) => _read(text, (_, bytes, size) => _change((engine) => rvl_forget_utf8(engine, bytes, size)));

  /// What was taught. It holds the texts themselves: a saved memory is as private as they are.
  RetvecMemory get memory => RetvecMemory._(this);

  /// Changes the memory; where that has no room, a larger one, as long as there is.
  void _change(int Function(Pointer<Void>) change) {
    var problem = change(_engine);
    while (problem == _noMemory || problem == _full) {
      final larger = max(2 * _room, 64); // texts, on average
      final size = rvl_memory_size(_engine, larger);
      if (_taught != nullptr && size <= _taughtSize) break;
      final saved = memory.save();
      final block = malloc<Uint8>(size + 1);
      problem = rvl_memory_open(_engine, block.cast(), size);
      if (problem != 0) {
        malloc.free(block);
        break;
      }
      if (_taught != nullptr) malloc.free(_taught);
      (_taught, _taughtSize, _room) = (block.cast(), size, larger);
      if (saved.isNotEmpty) memory.load(saved);
      problem = change(_engine);
    }
    _check(problem);
  }

  (String, String) _lesson(int number) => using((arena) {
    final label = arena<Pointer<Utf8>>();
    final text = rvl_taught_text(_engine, number, label);
    return (text.toDartString(), label.value.toDartString());
  });

  static T _read<T>(String text, T Function(Arena arena, Pointer<Uint8> bytes, int size) body) => using((arena) {
    final content = utf8.encode(text);
    final bytes = arena<Uint8>(content.length + 1)..asTypedList(content.length).setAll(0, content);
    return body(arena, bytes, content.length);
  });

  static void _check(int problem) {
    if (problem != 0) throw RetvecError(rvl_code(problem).toDartString(), rvl_message(problem).toDartString());
  }
}

/// What a classifier was taught.
class RetvecMemory {
  final RetvecClassifier _of;
  RetvecMemory._(this._of);

  /// The taught texts, as they are kept, and their labels, in the order of teaching.
  List<(String, String)> get texts => List.generate(rvl_taught(_of._engine), _of._lesson);

  /// The bytes of a file that every package of retvec-lite reads; none where nothing was taught.
  Uint8List save() => using((arena) {
    final size = rvl_memory_save(_of._engine, nullptr, 0);
    final saved = arena<Uint8>(size + 1);
    rvl_memory_save(_of._engine, saved, size);
    return Uint8List.fromList(saved.asTypedList(size));
  });

  /// Takes the bytes of such a file, in place of what was taught; fails, and changes nothing, where they are none.
  void load(Uint8List file) => using((arena) {
    final data = arena<Uint8>(file.length + 1)..asTypedList(file.length).setAll(0, file);
    _of._change((engine) => rvl_memory_load(engine, data, file.length));
  });

  /// Forgets all texts.
  void clear() => rvl_memory_open(_of._engine, _of._taught, _of._taughtSize);
}

const _words = 384, _noMemory = 9, _full = 12; // RVL_WORDS, RVL_NO_MEMORY and RVL_FULL

final class Answer extends Struct {
  @Int32()
  external int label;
  @Float()
  external double probability;
}

final class Part extends Struct {
  @Uint32()
  external int start;
  @Uint32()
  external int end;
  @Double()
  external double weight;
}

@Native<Pointer<Utf8> Function(Int)>()
external Pointer<Utf8> rvl_message(int problem);
@Native<Pointer<Utf8> Function(Int)>()
external Pointer<Utf8> rvl_code(int problem);
@Native<Int Function(Pointer<Void>, Size, Uint32, Pointer<Size>)>()
external int rvl_block_size(Pointer<Void> file, int size, int words, Pointer<Size> bytes);
@Native<Int Function(Pointer<Void>, Size, Uint32, Pointer<Void>, Size, Pointer<Pointer<Void>>)>()
external int rvl_open(Pointer<Void> file, int size, int words, Pointer<Void> block, int bytes, Pointer<Pointer<Void>> engine);
@Native<Uint32 Function(Pointer<Void>)>()
external int rvl_labels(Pointer<Void> engine);
@Native<Pointer<Utf8> Function(Pointer<Void>, Uint32)>()
external Pointer<Utf8> rvl_label(Pointer<Void> engine, int label);
@Native<Int Function(Pointer<Void>)>()
external int rvl_several_labels(Pointer<Void> engine);
@Native<Pointer<Utf8> Function(Pointer<Void>, Pointer<Size>)>()
external Pointer<Utf8> rvl_metadata(Pointer<Void> engine, Pointer<Size> bytes);
@Native<Uint32 Function(Pointer<Void>)>()
external int rvl_read_limit(Pointer<Void> engine);
@Native<Uint32 Function(Pointer<Void>)>()
external int rvl_dimension(Pointer<Void> engine);
@Native<Void Function(Pointer<Void>, Pointer<Uint8>, Size, Pointer<Float>)>()
external void rvl_probabilities_utf8(Pointer<Void> engine, Pointer<Uint8> text, int bytes, Pointer<Float> probabilities);
@Native<Size Function(Pointer<Void>, Pointer<Uint8>, Size, Pointer<Answer>, Size)>()
external int rvl_classify_utf8(Pointer<Void> engine, Pointer<Uint8> text, int bytes, Pointer<Answer> answers, int most);
@Native<Size Function(Pointer<Void>, Pointer<Uint8>, Size, Int32, Pointer<Part>, Size)>()
external int rvl_explain_utf8(Pointer<Void> engine, Pointer<Uint8> text, int bytes, int label, Pointer<Part> spans, int most);
@Native<Void Function(Pointer<Void>, Pointer<Uint8>, Size, Pointer<Float>)>()
external void rvl_embed_utf8(Pointer<Void> engine, Pointer<Uint8> text, int bytes, Pointer<Float> embedding);
@Native<Size Function(Pointer<Void>, Uint32)>()
external int rvl_memory_size(Pointer<Void> engine, int texts);
@Native<Int Function(Pointer<Void>, Pointer<Void>, Size)>()
external int rvl_memory_open(Pointer<Void> engine, Pointer<Void> block, int bytes);
@Native<Int Function(Pointer<Void>, Pointer<Uint8>, Size, Pointer<Utf8>)>()
external int rvl_teach_utf8(Pointer<Void> engine, Pointer<Uint8> text, int bytes, Pointer<Utf8> label);
@Native<Int Function(Pointer<Void>, Pointer<Uint8>, Size)>()
external int rvl_forget_utf8(Pointer<Void> engine, Pointer<Uint8> text, int bytes);
@Native<Uint32 Function(Pointer<Void>)>()
external int rvl_taught(Pointer<Void> engine);
@Native<Pointer<Utf8> Function(Pointer<Void>, Uint32, Pointer<Pointer<Utf8>>)>()
external Pointer<Utf8> rvl_taught_text(Pointer<Void> engine, int number, Pointer<Pointer<Utf8>> label);
@Native<Int32 Function(Pointer<Void>)>()
external int rvl_speaker(Pointer<Void> engine);
@Native<Size Function(Pointer<Void>, Pointer<Uint8>, Size)>()
external int rvl_memory_save(Pointer<Void> engine, Pointer<Uint8> out, int most);
@Native<Int Function(Pointer<Void>, Pointer<Uint8>, Size)>()
external int rvl_memory_load(Pointer<Void> engine, Pointer<Uint8> data, int size);
