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
        // The model is mapped into memory from inside the APK, which a compressed asset cannot be.
        noCompress += "tflite"
    }

    sourceSets {
        named("test") {
            kotlin.directories += "src/sharedTest/kotlin"
        }
        // The tests on a device compare with the same golden texts as those without one.
        named("androidTest") {
            kotlin.directories += "src/sharedTest/kotlin"
            assets.directories += "src/test/resources"
        }
    }
}

dependencies {
    implementation(libs.litert)

    testImplementation(libs.json) // That of android.jar is empty.
    testImplementation(libs.junit)
    testImplementation(libs.tensorflow.lite.desktop)
    testImplementation(libs.tensorflow.lite.metadata)

    androidTestImplementation(libs.androidx.test.runner)
    androidTestImplementation(libs.junit)
}
