plugins {
    alias(libs.plugins.android.application)
}

android {
    namespace = "org.retveclite.demo"
    compileSdk = libs.versions.compileSdk.get().toInt()

    defaultConfig {
        applicationId = "org.retveclite.demo"
        minSdk = libs.versions.minSdk.get().toInt()
        targetSdk = libs.versions.targetSdk.get().toInt()
        versionCode = 1
        versionName = "1.0"
        testInstrumentationRunner = "androidx.test.runner.AndroidJUnitRunner"
    }

    buildTypes {
        release {
            isMinifyEnabled = true
            isShrinkResources = true
            proguardFiles(getDefaultProguardFile("proguard-android-optimize.txt"), "proguard-rules.pro")
        }
    }

    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }

    androidResources {
        // The app maps the model into memory from the APK, so it must not be compressed.
        noCompress += "tflite"
    }

    testOptions.unitTests.all { it.systemProperty("java.library.path", rootDir.resolve("../build/jvm").path) }

    sourceSets {
        // Device tests use the golden texts of the JVM tests.
        named("androidTest") {
            kotlin.directories += "../../android/shared_test"
            assets.directories += listOf("src/test/resources", "../../golden")
        }
    }
}

/** Puts the language detector of the Python package into the assets, so that the repository holds one copy of it. */
abstract class CopyPrebuilt : DefaultTask() {
    @get:InputFile
    @get:PathSensitive(PathSensitivity.NAME_ONLY)
    abstract val model: RegularFileProperty

    @get:OutputDirectory
    abstract val folder: DirectoryProperty

    @TaskAction
    fun copy() {
        model.get().asFile.copyTo(folder.get().asFile.resolve("language.tflite"), overwrite = true)
    }
}

androidComponents {
    onVariants { variant ->
        val copy = tasks.register<CopyPrebuilt>("copy${variant.name.replaceFirstChar(Char::uppercase)}Prebuilt") {
            model = rootProject.layout.projectDirectory.file("../retvec_lite/prebuilt/language.tflite")
        }
        variant.sources.assets?.addGeneratedSourceDirectory(copy, CopyPrebuilt::folder)
    }
}

dependencies {
    // The library of ../android, or with -Ppublished=VERSION the published one, as other apps name it.
    val published = providers.gradleProperty("published").orNull
    implementation(if (published == null) project(":retvec-lite-litert") else "io.github.retvec-lite:retvec-lite-litert:$published")

    testImplementation(libs.junit)

    androidTestImplementation(libs.androidx.test.runner)
    androidTestImplementation(libs.junit)
}
