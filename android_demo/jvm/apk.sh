#!/usr/bin/env bash
# Build a signed APK for inspection, without Gradle and the SDK: jvm/apk.sh [NATIVE_ABI...]
#
# Needs Java, Maven and Debian's tools: apt install aapt zipalign apksigner android-framework-res. R8 comes from Google's Maven
# repository, everything else from Maven Central. TensorFlow Lite 2.16.1, the last release there, replaces LiteRT. Do not
# publish this APK: its native libraries do not support 16 KB pages.
set -euo pipefail
cd "$(dirname "$0")/.."

R8=9.4.25
FRAMEWORK=6.0.1_r3-robolectric-r1
OUT=target/apk
REPOSITORY="${MAVEN_REPOSITORY:-$HOME/.m2/repository}"
framework="$REPOSITORY/org/robolectric/android-all/$FRAMEWORK/android-all-$FRAMEWORK.jar"
r8="$REPOSITORY/com/android/tools/r8/$R8/r8-$R8.jar"

fetch() {
  [ -f "$2" ] || mvn -q -B dependency:get -Dartifact="$1" -Dtransitive=false -DremoteRepositories=https://maven.google.com
}
fetch "com.android.tools:r8:$R8" "$r8"
fetch "org.robolectric:android-all:$FRAMEWORK" "$framework"
java_home="$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")"
rm -rf "$OUT"
mkdir -p "$OUT/dex" "$OUT/lib" "$OUT/assets"
# As the task of Gradle does.
cp ../retvec_lite/prebuilt/language.tflite "$OUT/assets"

# Do what Gradle's manifest merger does: set the package and remove the merger's own attributes.
python3 - app/src/main/AndroidManifest.xml "$OUT/AndroidManifest.xml" <<'PYTHON'
import sys
import xml.etree.ElementTree as ElementTree

TOOLS = "{http://schemas.android.com/tools}"
ElementTree.register_namespace("android", "http://schemas.android.com/apk/res/android")
tree = ElementTree.parse(sys.argv[1])
root = tree.getroot()
root.set("package", "org.retveclite.demo")
for element in list(root):
    if element.get(f"{TOOLS}node") == "remove":
        root.remove(element)
for element in root.iter():
    for name in [name for name in element.attrib if name.startswith(TOOLS)]:
        del element.attrib[name]
tree.write(sys.argv[2], encoding="utf-8", xml_declaration=True)
PYTHON

aapt2 compile --dir app/src/main/res -o "$OUT/res.zip"
aapt2 link -I /usr/share/android-framework-res/framework-res.apk --manifest "$OUT/AndroidManifest.xml" -A app/src/main/assets -A "$OUT/assets" -0 .tflite \
  --min-sdk-version 23 --target-sdk-version 37 --version-code 1 --version-name 1.0 \
  --output-text-symbols "$OUT/R.txt" --proguard "$OUT/manifest.pro" -o "$OUT/linked.apk" "$OUT/res.zip"

mvn -q -B -f ../android compile "-Dresource.numbers=$OUT/R.txt" "-Dtarget.directory=$PWD/$OUT/maven/\${project.artifactId}"
jar cf "$OUT/classes.jar" -C "$OUT/maven/retvec-lite/classes" . -C "$OUT/maven/retvec-lite-litert/classes" . -C "$OUT/maven/android-demo/classes" .
runtime="$OUT/maven/retvec-lite-litert/runtime/lite"
java -cp "$r8" com.android.tools.r8.R8 --release --min-api 23 --lib "$framework" --lib "$java_home" \
  --pg-conf "$OUT/manifest.pro" --pg-conf app/proguard-rules.pro --pg-conf ../android/retvec-lite/proguard.txt --pg-conf "$runtime/proguard.txt" \
  --output "$OUT/dex" "$OUT/classes.jar" \
  "$REPOSITORY/org/jetbrains/kotlin/kotlin-stdlib/1.9.25/kotlin-stdlib-1.9.25.jar" "$REPOSITORY/org/jetbrains/annotations/13.0/annotations-13.0.jar"

cp "$OUT/linked.apk" "$OUT/unaligned.apk"
(cd "$OUT/dex" && jar uf ../unaligned.apk classes.dex)
for abi in "$@"; do
  mkdir -p "$OUT/lib/$abi"
  cp "$runtime/jni/$abi"/*.so "$OUT/lib/$abi/"
done
[ $# -eq 0 ] || (cd "$OUT" && jar u0f unaligned.apk lib)
# Align everything stored uncompressed (libraries and model) to 16 KB pages.
zipalign -f 16384 "$OUT/unaligned.apk" "$OUT/aligned.apk"
zipalign -c 16384 "$OUT/aligned.apk"

keytool -genkeypair -keystore "$OUT/debug.keystore" -storepass android -alias debug -dname "CN=Debug" -keyalg RSA -keysize 2048 -validity 30 2>"$OUT/keytool.log"
apksigner sign --ks "$OUT/debug.keystore" --ks-pass pass:android --out "$OUT/demo.apk" "$OUT/aligned.apk"
apksigner verify --verbose "$OUT/demo.apk"
aapt2 dump badging "$OUT/demo.apk"
unzip -lv "$OUT/demo.apk"
ls -l "$OUT/demo.apk"
