// Compiles the engine for the app's platform, with the C compiler that Flutter or Dart finds.
import 'dart:io';

import 'package:code_assets/code_assets.dart';
import 'package:hooks/hooks.dart';
import 'package:native_toolchain_c/native_toolchain_c.dart';

void main(List<String> arguments) async {
  await build(arguments, (input, output) async {
    if (!input.config.buildCodeAssets) return;
    final isWindows = input.config.code.targetOS == OS.windows;
    // A published package has the engine in its folder (tools/c_archive.py); a checkout where it is written.
    final isPackaged = File.fromUri(input.packageRoot.resolve('engine/retvec_lite.c')).existsSync();
    final builder = CBuilder.library(
      name: 'retvec_lite',
      assetName: 'retvec_lite.dart',
      sources: [isPackaged ? 'engine/retvec_lite.c' : '../../engine/retvec_lite.c'],
      std: isWindows ? null : 'c99',
      flags: [if (!isWindows) '-ffp-contract=off'],
      defines: {'RVL_API': isWindows ? '__declspec(dllexport) extern' : '__attribute__((visibility("default"))) extern'},
    );
    await builder.run(input: input, output: output);
  });
}
