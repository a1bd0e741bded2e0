plugins {
    alias(libs.plugins.android.library)
}

android {
    namespace = "org.retveclite"
    compileSdk = libs.versions.compileSdk.get().toInt()

    defaultConfig {
        minSdk = libs.versions.minSdk.get().toInt()
        consumerProguardFiles("proguard.txt")
    }

    testOptions.unitTests.all { it.systemProperty("java.library.path", rootDir.resolve("../build/jvm").path) }

    sourceSets {
        named("main") {
            kotlin.directories += "src/android/kotlin" // src/main/kotlin is that of every JVM.
        }
        named("test") {
            kotlin.directories += "../shared_test"
        }
    }
}

dependencies {
    testImplementation(libs.json) // android.jar has stubs only.
    testImplementation(libs.junit)
}
