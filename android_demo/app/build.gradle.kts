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

    sourceSets {
        named("test") {
            kotlin.directories += "src/sharedTest/kotlin"
        }
        // Device tests use the golden texts of the JVM tests.
        named("androidTest") {
            kotlin.directories += "src/sharedTest/kotlin"
            assets.directories += "src/test/resources"
        }
    }
}

dependencies {
    implementation(libs.litert)

    testImplementation(libs.json) // android.jar has stubs only.
    testImplementation(libs.junit)
    testImplementation(libs.tensorflow.lite.desktop)
    testImplementation(libs.tensorflow.lite.metadata)

    androidTestImplementation(libs.androidx.test.runner)
    androidTestImplementation(libs.junit)
}
